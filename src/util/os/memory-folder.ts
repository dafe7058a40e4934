import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Folders on the machine's tmpfs that stand for a tmpfs of their own size, which only root can mount. A kubelet makes them,
 * and a runtime of ours keeps to their size.
 */

export const SHARED_MEMORY = "/dev/shm";
export const MEMORY_FOLDER_PREFIX = "kubelab-emptydir-";
/** Beside the folder: its size in bytes. */
export const SIZE_FILE = "size";

const PLACE = new RegExp(`^${SHARED_MEMORY}/${MEMORY_FOLDER_PREFIX}\\w{6}/volume(?=/|$)`);

/** The folder of this kind that a path is in; undefined for every other path. */
export function memoryFolderOf(path: string): string | undefined {
  return PLACE.exec(path)?.[0];
}

/** The size of such a folder in bytes; undefined: as large as the machine's tmpfs. */
export function sizeOfMemoryFolder(folder: string): number | undefined {
  try {
    const bytes = Number(readFileSync(join(dirname(folder), SIZE_FILE), "utf8"));
    return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
  } catch {
    return undefined; // an earlier kubelet's
  }
}

/** The bytes of the files in a folder. */
export function bytesIn(folder: string): number {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (stat?.isFile() === true) return stat.size;
  if (stat?.isDirectory() !== true) return 0;
  return readdirSync(folder).reduce((sum, name) => sum + bytesIn(join(folder, name)), 0);
}
