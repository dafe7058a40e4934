import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  type Stats,
  statfsSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { bytesIn, memoryFolderOf, sizeOfMemoryFolder } from "../../../util/os/memory-folder.js";
import type { DiskUse } from "./disk-use.js";
import { FsError, fromHost } from "./fs-error.js";
import type { FileOwner, HostOwners } from "./host-owners.js";
import type { HostMount } from "./nodes.js";

/** The node's disk, with the layers of all containers and its volumes. */
export interface NodeDisk {
  readonly isReadonly: boolean;
}

/** A file or folder of the machine inside a mount: `rel` is its path below the mount point. */
export interface HostPlace {
  readonly kind: "host";
  readonly mount: HostMount;
  readonly rel: string;
}

/** Linux's number of the file system in statfs. */
const TMPFS_MAGIC = 0x01021994;

const NO_FOLLOW = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The only code of the runtime that touches files of the machine for a container, and only below the paths that the
 * kubelet has mounted. It never follows symbolic links: the container's own path resolution does, so a link out of a
 * mount leads to a path of the container. It does not open pipes, sockets and devices.
 */
export class HostFiles {
  constructor(
    readonly use: DiskUse,
    readonly owners: HostOwners,
    readonly disk?: NodeDisk,
  ) {}

  path({ mount, rel }: HostPlace): string {
    return rel === "" ? mount.hostPath : join(mount.hostPath, rel);
  }

  /** @returns undefined if nothing is there */
  stat(place: HostPlace): Stats | undefined {
    return this.#try(place, () => lstatSync(this.path(place), { throwIfNoEntry: false }));
  }

  readlink(place: HostPlace): string {
    return this.#try(place, () => readlinkSync(this.path(place)));
  }

  readdir(place: HostPlace): string[] {
    return this.#try(place, () => readdirSync(this.path(place)));
  }

  read(place: HostPlace, offset: number, length: number): Buffer {
    return this.#withFile(place, constants.O_RDONLY, 0, (fd) => {
      const buffer = Buffer.allocUnsafe(length);
      return buffer.subarray(0, readSync(fd, buffer, 0, length, offset));
    });
  }

  /** @param offset default: append */
  write(place: HostPlace, bytes: Uint8Array, offset: number | undefined, mode: number): void {
    this.requireWritable(place);
    const append = offset === undefined ? constants.O_APPEND : 0;
    this.#withFile(place, constants.O_WRONLY | constants.O_CREAT | append, mode, (fd, { size }) => {
      const growth = (offset ?? size) + bytes.length - size;
      if (growth > 0) this.use.grow(growth, this.path(place), this.#shown(place));
      for (let at = 0; at < bytes.length; ) {
        at += writeSync(fd, bytes, at, bytes.length - at, offset === undefined ? null : offset + at);
      }
    });
  }

  /** Creates an empty file with exactly these permission bits, for this user. */
  create(place: HostPlace, mode: number, owner: FileOwner): void {
    this.requireWritable(place);
    this.use.addName(this.#shown(place));
    this.#withFile(place, constants.O_WRONLY | constants.O_CREAT, mode, (fd) => fchmodSync(fd, mode));
    this.give(place, owner);
  }

  /** Changes the owner of a file or, itself, of a symbolic link. */
  give(place: HostPlace, owner: FileOwner): void {
    this.#change(place, (path) => this.owners.give(path, lstatSync(path), owner));
  }

  truncate(place: HostPlace, mode: number): void {
    this.requireWritable(place);
    this.#withFile(place, constants.O_WRONLY | constants.O_CREAT, mode, (fd, { size }) => {
      ftruncateSync(fd, 0);
      this.use.shrink(size, this.path(place));
    });
  }

  /** Creates a folder with exactly these permission bits, for this user. */
  mkdir(place: HostPlace, mode: number, owner: FileOwner): void {
    this.#add(place, (path) => {
      mkdirSync(path);
      this.owners.give(path, lstatSync(path), owner);
      chmodSync(path, mode);
    });
  }

  chmod(place: HostPlace, mode: number): void {
    this.#change(place, (path) => chmodSync(path, mode));
  }

  /** The space of the file system, in bytes. */
  space(place: HostPlace): FileSystemSpace {
    return this.#try(place, () => spaceAt(this.path(place)));
  }

  isTmpfs(place: HostPlace): boolean {
    return this.#try(place, () => statfsSync(this.path(place)).type === TMPFS_MAGIC);
  }

  rmdir(place: HostPlace): void {
    this.#change(place, (path) => {
      this.#forget(path);
      rmdirSync(path);
    });
  }

  unlink(place: HostPlace): void {
    this.#change(place, (path) => {
      this.#forget(path);
      unlinkSync(path);
    });
  }

  symlink(place: HostPlace, target: string, owner: FileOwner): void {
    this.#add(place, (path) => {
      symlinkSync(target, path);
      this.owners.give(path, lstatSync(path), owner);
    });
  }

  rename(from: HostPlace, to: HostPlace): void {
    this.requireWritable(from);
    this.#change(to, (path) => {
      this.#forget(path); // of the file that it replaces
      renameSync(this.path(from), path);
    });
  }

  link(from: HostPlace, to: HostPlace): void {
    this.requireWritable(from);
    this.#add(to, (path) => linkSync(this.path(from), path));
  }

  utimes(place: HostPlace, mtimeMs: number): void {
    this.#change(place, (path) => utimesSync(path, mtimeMs / 1000, mtimeMs / 1000));
  }

  /** Creates a folder or a link. */
  #add(place: HostPlace, create: (path: string) => void): void {
    this.requireWritable(place);
    this.use.addName(this.#shown(place));
    this.#change(place, create);
  }

  #change(place: HostPlace, change: (path: string) => void): void {
    this.requireWritable(place);
    this.#try(place, () => change(this.path(place)));
  }

  /** A name is removed. */
  #forget(path: string): void {
    this.use.removeName(path);
    if (this.owners.own === undefined) return;
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat !== undefined && (stat.nlink === 1 || stat.isDirectory())) this.owners.forget(stat);
  }

  /** @throws FsError EROFS */
  requireWritable({ mount, rel }: HostPlace): void {
    const isOnDisk = memoryFolderOf(mount.hostPath) === undefined;
    if (mount.isReadonly || (isOnDisk && this.disk?.isReadonly === true))
      throw new FsError("EROFS", join(mount.containerPath, rel));
  }

  #withFile<T>(place: HostPlace, flags: number, mode: number, use: (fd: number, stat: Stats) => T): T {
    return this.#try(place, () => {
      const fd = openSync(this.path(place), flags | NO_FOLLOW, mode);
      try {
        const stat = fstatSync(fd);
        if (stat.isDirectory()) throw new FsError("EISDIR", this.#shown(place));
        if (!stat.isFile()) throw new FsError("EACCES", this.#shown(place));
        return use(fd, stat);
      } finally {
        closeSync(fd);
      }
    });
  }

  #shown({ mount, rel }: HostPlace): string {
    return join(mount.containerPath, rel);
  }

  /** Errors name the container's path and hide the host's. */
  #try<T>(place: HostPlace, body: () => T): T {
    try {
      return body();
    } catch (error) {
      throw fromHost(error, this.#shown(place));
    }
  }
}

export interface FileSystemSpace {
  readonly totalBytes: number;
  readonly freeBytes: number;
  readonly totalInodes: number;
  readonly freeInodes: number;
}

/** The space of the file system of the machine that has this path. */
export function spaceAt(path: string): FileSystemSpace {
  const { blocks, bavail, bsize, files, ffree } = statfsSync(path);
  const inodes = { totalInodes: files, freeInodes: ffree };
  const folder = memoryFolderOf(path);
  const totalBytes = folder === undefined ? undefined : sizeOfMemoryFolder(folder);
  if (folder !== undefined && totalBytes !== undefined) {
    return { totalBytes, freeBytes: Math.max(0, totalBytes - bytesIn(folder)), ...inodes };
  }
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize, ...inodes };
}
