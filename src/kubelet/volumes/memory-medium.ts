import { lstatSync, readlinkSync, statfsSync } from "node:fs";
import { mkdtemp, readdir, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder } from "../../util/os/files.js";
import { MEMORY_FOLDER_PREFIX, memoryFolderOf, SHARED_MEMORY, SIZE_FILE } from "../../util/os/memory-folder.js";

/** Linux's number of tmpfs in statfs. */
const TMPFS_MAGIC = 0x01021994;
/** A link back to the volume in the kubelet's folder. */
const OWNER = "owner";

/**
 * Makes the folder of an `emptyDir` of medium Memory: on the machine's tmpfs, with a link to it at `dir`. A volume that
 * an earlier kubelet has made stays.
 *
 * Mirrors setupTmpfs in pkg/volume/emptydir/empty_dir.go. Differs: upstream mounts a tmpfs of its own for each volume,
 * which only root can do; the folder's size is written beside it, and the embedded runtime keeps to it. A machine without
 * a tmpfs gets a plain folder, without a limit.
 * @param sizeBytes of the volume @returns its path
 */
export async function setUpMemoryMedium(dir: string, sizeBytes: number): Promise<string> {
  const present = memoryFolderAt(dir);
  if (present !== undefined && lstatSync(present, { throwIfNoEntry: false })?.isDirectory() === true) return present;
  if (!hasSharedMemory() || lstatSync(dir, { throwIfNoEntry: false })?.isDirectory() === true) return dir;
  await rm(dir, { force: true }); // the machine has restarted: its tmpfs is empty
  await makeFolder(dirname(dir));
  await removeAbandonedMemoryMedia(); // those of a kubelet that was killed
  const parent = await mkdtemp(join(SHARED_MEMORY, MEMORY_FOLDER_PREFIX));
  const folder = join(parent, "volume");
  await writeFile(join(parent, SIZE_FILE), String(sizeBytes));
  await symlink(folder, dir);
  await symlink(dir, join(parent, OWNER)); // last: without it, no other kubelet removes the folder
  return folder;
}

/** Removes the folders on the machine's tmpfs whose kubelet's folder is gone. Call it after removing such a folder. */
export async function removeAbandonedMemoryMedia(): Promise<void> {
  const names = await readdir(SHARED_MEMORY).catch(() => []);
  for (const name of names.filter((one) => one.startsWith(MEMORY_FOLDER_PREFIX))) {
    const parent = join(SHARED_MEMORY, name);
    const owner = await readlink(join(parent, OWNER)).catch(() => undefined); // another user's
    if (owner !== undefined && memoryFolderAt(owner) !== join(parent, "volume")) {
      await rm(parent, { recursive: true, force: true });
    }
  }
}

/** Removes the folders on the machine's tmpfs that links in `emptyDirs` name. A missing folder is fine. */
export async function tearDownMemoryMedia(emptyDirs: string): Promise<void> {
  const names = await readdir(emptyDirs).catch(() => []);
  for (const name of names) {
    const folder = memoryFolderAt(join(emptyDirs, name));
    if (folder !== undefined) await rm(dirname(folder), { recursive: true, force: true });
  }
}

/** The target of a link that `setUpMemoryMedium` has made; undefined for everything else. */
function memoryFolderAt(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return undefined;
  const target = readlinkSync(path);
  return memoryFolderOf(target) === target ? target : undefined;
}

function hasSharedMemory(): boolean {
  try {
    return statfsSync(SHARED_MEMORY).type === TMPFS_MAGIC;
  } catch {
    return false; // not Linux
  }
}
