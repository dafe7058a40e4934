import { lstatSync, readdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../util/clock.js";
import { bytesIn, memoryFolderOf, sizeOfMemoryFolder } from "../../../util/os/memory-folder.js";
import { FsError } from "./fs-error.js";
import type { HostMount } from "./nodes.js";

/** The limit of what a container can add to the machine's disk through its mounts. A sparse file counts with its size. */
const MAX_BYTES = 1024 ** 3;
const MAX_NAMES = 50_000;
/** The space that must stay free there: the lower of both values. */
const MIN_FREE_BYTES = 1024 ** 3;
const MIN_FREE_SHARE = 0.1;
const BYTES_PER_LOOK = 1024 ** 2;
const MEMORY_BYTES_PER_LOOK = 64 * 1024;
const MEASURE_PERIOD_MS = 10_000;

/** The disk space of the machine that one container uses through its mounts. */
export class DiskUse {
  #bytes = 0;
  #names = 0;
  #unseenBytes = BYTES_PER_LOOK;
  /** by folder: the bytes at the last look, and those that this container has added since */
  readonly #memory = new Map<string, { used: number; added: number }>();
  /** the bytes in memory that this container has charged */
  #charged = 0;
  /** called when files in memory grow or shrink; throws to refuse it */
  onMemory: (bytes: number) => void = () => {};
  #measuredMs = Number.NEGATIVE_INFINITY;

  constructor(
    readonly mounts: readonly HostMount[],
    readonly clock: Clock,
  ) {}

  /** A file grows. @throws FsError ENOSPC */
  grow(bytes: number, hostPath: string, path: string): void {
    this.#growMemory(bytes, hostPath, path);
    this.#unseenBytes += bytes;
    if (this.#unseenBytes >= BYTES_PER_LOOK) {
      const { bavail, blocks, bsize } = statfsSync(hostPath);
      const least = Math.min(MIN_FREE_BYTES, blocks * bsize * MIN_FREE_SHARE);
      if (bavail * bsize - bytes < least) throw new FsError("ENOSPC", path);
      this.#unseenBytes = 0;
    }
    if (this.#bytes + bytes > MAX_BYTES) this.#measure();
    if (this.#bytes + bytes > MAX_BYTES) throw new FsError("ENOSPC", path);
    this.#bytes += bytes;
  }

  /** Volumes of medium Memory have a size of their own, which all containers of the pod share. */
  #growMemory(bytes: number, hostPath: string, path: string): void {
    const folder = memoryFolderOf(hostPath);
    if (folder === undefined) return;
    this.#requireRoom(folder, bytes, path);
    this.onMemory(bytes);
    this.#charged += bytes;
  }

  #requireRoom(folder: string, bytes: number, path: string): void {
    const size = sizeOfMemoryFolder(folder);
    if (size === undefined) return;
    const seen = this.#memory.get(folder) ?? { used: bytesIn(folder), added: 0 };
    seen.added += bytes;
    if (seen.used + seen.added > size || seen.added > MEMORY_BYTES_PER_LOOK) {
      seen.used = bytesIn(folder);
      seen.added = bytes;
    }
    this.#memory.set(folder, seen);
    if (seen.used + seen.added <= size) return;
    seen.added -= bytes;
    throw new FsError("ENOSPC", path);
  }

  /** A new file, folder or link. @throws FsError ENOSPC */
  addName(path: string): void {
    if (this.#names >= MAX_NAMES) this.#measure();
    if (this.#names >= MAX_NAMES) throw new FsError("ENOSPC", path);
    this.#names++;
  }

  shrink(bytes: number, hostPath: string): void {
    this.#bytes = Math.max(0, this.#bytes - bytes);
    if (memoryFolderOf(hostPath) === undefined) return;
    const freed = Math.min(bytes, this.#charged);
    this.#charged -= freed;
    this.onMemory(-freed);
  }

  /** Removes the name, and the content if it was the file's only name. */
  removeName(hostPath: string): void {
    const stat = lstatSync(hostPath, { throwIfNoEntry: false });
    if (stat === undefined) return;
    this.#names = Math.max(0, this.#names - 1);
    if (stat.isFile() && stat.nlink === 1) this.shrink(stat.size, hostPath);
  }

  /** Others may have removed files of this container. */
  #measure(): void {
    if (this.clock.now() - this.#measuredMs < MEASURE_PERIOD_MS) return;
    this.#measuredMs = this.clock.now();
    const left = { bytes: this.#bytes, names: this.#names };
    for (const mount of this.mounts) if (!mount.isReadonly) subtract(mount.hostPath, left);
    this.#bytes = Math.max(0, this.#bytes - Math.max(0, left.bytes));
    this.#names -= Math.max(0, left.names);
  }
}

/** Subtracts what a folder contains, until nothing is left. */
function subtract(folder: string, left: { bytes: number; names: number }): void {
  const todo = [folder];
  for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isFile() === true) left.bytes -= stat.size;
    if (stat?.isDirectory() !== true) continue;
    const names = namesIn(path);
    left.names -= names.length;
    for (const name of names) todo.push(join(path, name));
    if (left.bytes <= 0 && left.names <= 0) return;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // It is gone, or belongs to another user.
  }
}
