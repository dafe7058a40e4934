import { lstat, stat, writeFile } from "node:fs/promises";
import { dirname, isAbsolute } from "node:path";
import { makeFolder } from "../../util/os/files.js";
import { VolumeSetUpError } from "./payload.js";
import { secureJoin } from "./safe-path.js";

/**
 * The meaning of a pod's hostPath. `real`: this machine, as for a kubelet. `below`: a folder stands for the node's
 * root, for simulated nodes on a learner's machine: nothing outside it can be named. `refuse`: hostPath volumes fail.
 */
export type HostPaths =
  | { readonly kind: "real" }
  | { readonly kind: "refuse" }
  | { readonly kind: "below" /** created when it is missing */; readonly root: string };

/**
 * The path of a hostPath volume on this machine, after checking its type.
 *
 * Mirrors pkg/volume/hostpath/host_path.go (checkType).
 * @throws VolumeSetUpError
 */
export async function resolveHostPath(
  hostPaths: HostPaths,
  { path, type = "" }: { readonly path: string; readonly type?: string },
): Promise<string> {
  if (hostPaths.kind === "refuse") {
    throw new VolumeSetUpError("hostPath volumes are refused: this node has no files of its own to give");
  }
  if (!isAbsolute(path) || path.split("/").includes("..")) {
    throw new VolumeSetUpError(`invalid hostPath ${JSON.stringify(path)}: must be absolute and without '..'`);
  }
  if (hostPaths.kind === "real") return checked(path, path, type);
  await makeFolder(hostPaths.root, 0o755);
  const resolved = await secureJoin(hostPaths.root, path);
  // The runtime would create a missing path outside; created here, it stays inside.
  return checked(resolved, path, type === "" && !(await isThere(resolved)) ? "DirectoryOrCreate" : type);
}

async function checked(path: string, shown: string, type: string): Promise<string> {
  if (type === "DirectoryOrCreate" && !(await isThere(path))) await makeFolder(path, 0o755);
  if (type === "FileOrCreate" && !(await isThere(path))) {
    await makeFolder(dirname(path), 0o755);
    await writeFile(path, "", { flag: "a", mode: 0o644 });
  }
  if (type === "") return path;
  const found = await stat(path).catch(() => undefined);
  const fail = (what: string): never => {
    throw new VolumeSetUpError(`hostPath type check failed: ${shown} is not ${what}`);
  };
  const kinds: Readonly<Record<string, readonly [boolean | undefined, string]>> = {
    DirectoryOrCreate: [found?.isDirectory(), "a directory"],
    Directory: [found?.isDirectory(), "a directory"],
    FileOrCreate: [found?.isFile(), "a file"],
    File: [found?.isFile(), "a file"],
    Socket: [found?.isSocket(), "a socket file"],
    CharDevice: [found?.isCharacterDevice(), "a character device"],
    BlockDevice: [found?.isBlockDevice(), "a block device"],
  };
  const kind = kinds[type];
  if (kind === undefined) throw new VolumeSetUpError(`${type} is an invalid volume type`);
  if (kind[0] !== true) fail(kind[1]);
  return path;
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}
