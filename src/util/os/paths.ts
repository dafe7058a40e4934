import { resolve } from "node:path";

/**
 * A path of the command line as this process opens it. A lab runs commands in this process, each in the lab's folder: their
 * paths are relative to that one. Where the process itself is there, a path stays as it was typed.
 */
export function pathFrom(cwd: string, path: string): string {
  const full = resolve(cwd, path);
  return full === resolve(path) ? path : full;
}
