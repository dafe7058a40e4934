import { RpcError } from "../../cri/status.js";
import { copyFor, type Device, type DirectoryNode, directory, type FsNode, file } from "../../shell/fs/nodes.js";

/** The devices of the simulated machine. */
const MACHINE: Readonly<Record<string, Device>> = {
  "/dev/null": "null",
  "/dev/zero": "zero",
  "/dev/full": "full",
  "/dev/urandom": "urandom",
  "/dev/random": "urandom",
  "/dev/tty": "tty",
};

interface ContainerDevice {
  readonly hostPath: string;
  readonly containerPath: string;
}

/** Mirrors containerd's WithDevices in pkg/cri/opts/spec_linux.go. @throws RpcError for a device that the machine does not have */
export function checkDevices(devices: readonly ContainerDevice[]): void {
  for (const { hostPath } of devices) {
    if (MACHINE[hostPath] === undefined) throw new RpcError("Unknown", `lstat ${hostPath}: no such file or directory`);
  }
}

/** An image's tree with the devices of a container in it. The tree itself stays as it is. */
export function withDevices(tree: DirectoryNode, devices: readonly ContainerDevice[], nowMs: number): DirectoryNode {
  let root = tree;
  for (const { hostPath, containerPath } of devices) {
    const options = { mode: 0o666, device: MACHINE[hostPath] ?? "null" } as const;
    const names = containerPath.split("/").filter((name) => name !== "");
    root = withNode(root, names, file({}, nowMs, Buffer.alloc(0), options));
  }
  return root;
}

function withNode(folder: DirectoryNode, [name = "", ...rest]: readonly string[], node: FsNode): DirectoryNode {
  const copy = copyFor(folder, {});
  const child = folder.children.get(name);
  const below = child?.type === "directory" ? child : directory({}, node.mtimeMs);
  copy.children.set(name, rest.length === 0 ? node : withNode(below, rest, node));
  return copy;
}
