import { resolve } from "node:path";

/**
 * A path of the command line as this process opens it. A lab runs commands in this process, each in the lab's folder,
 * so their paths are relative to that folder. A path stays as it was typed if the process itself runs there.
 */
export function pathFrom(cwd: string, path: string): string {
  const full = resolve(cwd, path);
  return full === resolve(path) ? path : full;
}
