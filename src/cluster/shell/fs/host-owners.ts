import { chownSync, lchownSync, type Stats } from "node:fs";
import type { HostMount } from "./nodes.js";

/** See `HostMount.user`. */
export const SET_UID = 0o4000;

/** The user and group of a file. */
export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

interface Given {
  readonly owner: FileOwner;
  /** another file may get the inode of one that others removed */
  readonly birthtimeMs: number;
}

/**
 * The owners of the files in mounts, shared by the containers of a runtime.
 *
 * A runtime that runs as root gives files to their users. Any other user cannot, so the runtime remembers the owners of
 * the files that containers create or give away, and shows its own files as root's: it is the root of the node that it
 * simulates, as in a user namespace. It forgets them when it ends.
 */
export class HostOwners {
  readonly #given = new Map<string, Given>();

  /** @param own the user of this process; undefined: root */
  constructor(readonly own: FileOwner | undefined = ownUser()) {}

  of(stat: Stats, { group, user = 0 }: HostMount): FileOwner {
    const { own } = this;
    if (own === undefined) return stat;
    const given = this.#given.get(key(stat));
    if (given !== undefined && given.birthtimeMs === stat.birthtimeMs) return given.owner;
    const root = (stat.mode & SET_UID) === 0 ? 0 : user;
    return { uid: stat.uid === own.uid ? root : stat.uid, gid: stat.gid === own.gid ? (group ?? 0) : stat.gid };
  }

  /** @param path of a file or, itself, of a symbolic link @throws the file system's error */
  give(path: string, stat: Stats, { uid, gid }: FileOwner): void {
    if (this.own !== undefined) {
      this.#given.set(key(stat), { owner: { uid, gid }, birthtimeMs: stat.birthtimeMs });
      return;
    }
    if (stat.uid === uid && stat.gid === gid) return;
    (stat.isSymbolicLink() ? lchownSync : chownSync)(path, uid, gid);
  }

  /** The file's last name is removed. */
  forget(stat: Stats): void {
    if (this.#given.size > 0) this.#given.delete(key(stat));
  }
}

function key({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

function ownUser(): FileOwner | undefined {
  const uid = process.getuid?.() ?? 0;
  return uid === 0 ? undefined : { uid, gid: process.getgid?.() ?? 0 };
}
