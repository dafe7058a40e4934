import { realpathSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { makeFolderSync } from "../../../util/os/files.js";
import { invalid } from "../errors.js";

/**
 * The path of a container's log: log_path below log_directory. Without either, there is no log.
 *
 * Mirrors containerd's container_create.go, which joins the two. Differs: a path that leaves the folder is refused, as
 * CRI-O does (EnsureSaneLogPath), and so is a relative one or one with a zero byte.
 * @throws RpcError InvalidArgument
 */
export function containerLogPath(logDirectory: string, logPath: string): string | undefined {
  if (logDirectory === "" || logPath === "") return undefined;
  if (!logDirectory.startsWith("/")) throw invalid(`log directory "${logDirectory}" is not an absolute path`);
  if (logDirectory.includes("\0") || logPath.includes("\0")) throw invalid("log path has a zero byte");
  const folder = normalize(`${logDirectory}/`);
  const path = join(folder, logPath);
  if (!path.startsWith(folder) || path.endsWith("/")) {
    throw invalid(`log path "${logPath}" is outside the log directory "${logDirectory}"`);
  }
  return path;
}

/**
 * Creates the folder of a log and checks its real path: a symbolic link must not lead out of the log directory.
 * Differs: containerd expects the kubelet to create the folder.
 * @throws RpcError InvalidArgument; the system's error if the folder cannot be created
 */
export function prepareLogFolder(logDirectory: string, path: string): void {
  const folder = dirname(path);
  makeFolderSync(folder);
  const root = realpathSync(logDirectory);
  const real = realpathSync(folder);
  if (real === root || real.startsWith(root === "/" ? root : `${root}/`)) return;
  throw invalid(`log path "${path}" leads outside the log directory "${logDirectory}"`);
}
