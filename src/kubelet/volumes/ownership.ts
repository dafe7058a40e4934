import { chmod, chown, lchown, lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";

const READ_WRITE_MASK = 0o660;
const READ_ONLY_MASK = 0o440;
const EXECUTE_MASK = 0o110;
/** New files in the folder get its group. */
const SET_GID = 0o2000;

/**
 * Gives the pod's fsGroup all files of the volume: it can read them and, unless the volume is read-only, write to them.
 * Only root can do that; for other users nothing is done.
 *
 * Mirrors SetVolumeOwnership and changeFilePermission in pkg/volume/volume_linux.go.
 */
export async function setVolumeOwnership({ spec }: V1Pod, dir: string, isReadonly: boolean): Promise<void> {
  const { fsGroup } = (spec["securityContext"] ?? {}) as { readonly fsGroup?: number | null };
  if (typeof fsGroup !== "number" || process.getuid?.() !== 0) return;
  await giveToGroup(dir, fsGroup, isReadonly ? READ_ONLY_MASK : READ_WRITE_MASK);
}

async function giveToGroup(path: string, gid: number, mask: number): Promise<void> {
  const stat = await lstat(path);
  if (stat.isSymbolicLink()) return lchown(path, stat.uid, gid);
  await chown(path, stat.uid, gid);
  const isFolder = stat.isDirectory();
  await chmod(path, (stat.mode & 0o7777) | mask | (isFolder ? SET_GID | EXECUTE_MASK : 0));
  if (isFolder) for (const name of await readdir(path)) await giveToGroup(join(path, name), gid, mask);
}
