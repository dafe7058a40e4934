import { realpathSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { makeFolderSync } from "../../util/files.js";
import { invalid } from "../state/errors.js";

/**
 * Where a container's log goes: log_path below log_directory. Without either, nothing is logged.
 *
 * Mirrors containerd's container_create.go, which joins the two. Differs: a path that leaves the folder is refused, as
 * CRI-O does (EnsureSaneLogPath), and so is one that is not absolute or has a zero byte.
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
 * Makes the folder that a log goes to, and looks where it really is: a symbolic link must not lead it out of the log
 * directory. Differs: containerd leaves making the folder to the kubelet.
 * @throws RpcError InvalidArgument; what the system says when the folder cannot be made
 */
export function prepareLogFolder(logDirectory: string, path: string): void {
  const folder = dirname(path);
  makeFolderSync(folder);
  const root = realpathSync(logDirectory);
  const real = realpathSync(folder);
  if (real === root || real.startsWith(root === "/" ? root : `${root}/`)) return;
  throw invalid(`log path "${path}" leads outside the log directory "${logDirectory}"`);
}
