import { FsError } from "./fs-error.js";
import type { HostFiles, HostPlace } from "./host-files.js";
import { SET_UID } from "./host-owners.js";
import { inodeOf } from "./nodes.js";
import type { Place } from "./walk.js";

export interface FileStat {
  readonly type: "file" | "directory" | "symlink" | "device" | "socket";
  /** permission bits */
  readonly mode: number;
  readonly size: number;
  /** Unix ms */
  readonly mtimeMs: number;
  readonly uid: number;
  readonly gid: number;
  readonly inode: number;
  /** Unix ms, of files in mounts: another file may get the inode of one that was removed */
  readonly birthMs?: number;
  readonly links: number;
}

/** The stat of an existing place. */
export function statOf(place: Place, host: HostFiles): FileStat {
  if (place.kind === "host") {
    const stat = host.stat(place);
    if (stat === undefined) throw new FsError("ENOENT", place.rel);
    const type = stat.isDirectory()
      ? "directory"
      : stat.isSymbolicLink()
        ? "symlink"
        : stat.isSocket()
          ? "socket"
          : "file";
    const { uid, gid } = host.owners.of(stat, place.mount);
    return {
      type,
      mode: stat.mode & (place.mount.user === undefined ? 0o7777 : 0o7777 & ~SET_UID),
      size: stat.size,
      mtimeMs: stat.mtimeMs,
      uid,
      gid,
      inode: stat.ino,
      birthMs: stat.birthtimeMs,
      links: stat.nlink,
    };
  }
  const { node } = place;
  const base = {
    mode: node.mode,
    mtimeMs: node.mtimeMs,
    uid: node.uid ?? 0,
    gid: node.gid ?? 0,
    inode: inodeOf(node),
    links: 1,
  };
  if (node.type === "file") return { type: node.device === undefined ? "file" : "device", size: node.size, ...base };
  return { type: node.type, size: node.type === "symlink" ? node.target.length : 4096, ...base };
}

/** The size of a file in a mount. */
export function sizeOnHost(place: HostPlace, host: HostFiles, path: string): number {
  const stat = host.stat(place);
  if (stat?.isDirectory() === true) throw new FsError("EISDIR", path);
  return stat?.size ?? 0;
}
