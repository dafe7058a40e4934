import { resolve } from "node:path";

/** What sockaddr_un holds before a zero byte: 107 bytes on Linux, 103 on macOS. */
const MAX_SOCKET_PATH = process.platform === "darwin" ? 103 : 107;

/**
 * A path of the command line as this process opens it. A lab runs commands in this process, each in the lab's folder,
 * so their paths are relative to that folder. A path stays as it was typed if the process itself runs there.
 */
export function pathFrom(cwd: string, path: string): string {
  const full = resolve(cwd, path);
  return full === resolve(path) ? path : full;
}

/** Why a socket cannot have the path; undefined if it can. */
export function socketPathProblem(path: string): string | undefined {
  const length = Buffer.byteLength(path);
  if (length <= MAX_SOCKET_PATH) return undefined;
  return `a socket's path has at most ${MAX_SOCKET_PATH} bytes, and this one has ${length}`;
}
