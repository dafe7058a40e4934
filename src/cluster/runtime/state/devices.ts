import { RpcError } from "../../../staging/cri/grpc/status.js";
import { copyFor, type DirectoryNode, directory, type FsNode } from "../../shell/fs/nodes.js";
import { DEVICES, deviceFile } from "../images/root-tree.js";

interface ContainerDevice {
  readonly hostPath: string;
  readonly containerPath: string;
}

/** Mirrors containerd's WithDevices in pkg/cri/opts/spec_linux.go. @throws RpcError for a device that the machine does not have */
export function checkDevices(devices: readonly ContainerDevice[]): void {
  for (const { hostPath } of devices) {
    if (DEVICES[hostPath] === undefined) throw new RpcError("Unknown", `lstat ${hostPath}: no such file or directory`);
  }
}

/** A copy of an image's tree with a container's devices. The tree itself does not change. */
export function withDevices(tree: DirectoryNode, devices: readonly ContainerDevice[], nowMs: number): DirectoryNode {
  let root = tree;
  for (const { hostPath, containerPath } of devices) {
    const names = containerPath.split("/").filter((name) => name !== "");
    root = withNode(root, names, deviceFile({}, nowMs, DEVICES[hostPath] ?? "null"));
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
