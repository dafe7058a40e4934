import type { Clock } from "../../../util/clock.js";
import { FsError } from "./fs-error.js";
import type { FileNode } from "./nodes.js";

/** The limit for a container's writable layer, which is in this process's memory. */
const MAX_LAYER_BYTES = 128 * 1024 * 1024;
/** The size of /dev/shm. Mirrors containerd's default. */
export const SHM_BYTES = 64 * 1024 * 1024;
const SHM = "/dev/shm/";
/** The limit for its files, folders and links. */
const MAX_NODES = 50_000;
/** Files of this size or more grow in place; copying them would take too long. */
const LARGE_BYTES = 4 * 1024 * 1024;
const GROWTH_BYTES = 1024 * 1024;

/** Writes to a container's own files and counts their size. `path` is for the ENOSPC error. */
export class Layer {
  usedBytes = 0;
  nodeCount = 0;
  /** of files in /dev/shm, which are also part of `usedBytes` */
  shmBytes = 0;
  /** called when files in memory grow or shrink; throws to refuse it */
  onMemory: (bytes: number) => void = () => {};

  constructor(readonly clock: Clock) {}

  put(node: FileNode, bytes: Uint8Array, offset: number, path: string): void {
    const end = offset + bytes.length;
    if (end > node.bytes.length) {
      this.check(end - node.size, path);
      node.bytes = enlarged(node, end);
    }
    if (end > node.size) this.resize(node, end, path);
    node.bytes.set(bytes, offset);
    node.mtimeMs = this.clock.now();
  }

  resize(node: FileNode, size: number, path: string): void {
    this.charge(size - node.size, path);
    if (size < node.size) node.bytes.fill(0, size, node.size);
    node.size = size;
    node.mtimeMs = this.clock.now();
  }

  charge(bytes: number, path: string): void {
    this.check(bytes, path);
    if (path.startsWith(SHM)) {
      this.onMemory(bytes);
      this.shmBytes += bytes;
    }
    this.usedBytes += bytes;
  }

  /** @throws FsError ENOSPC */
  check(bytes: number, path: string): void {
    const isShmFull = path.startsWith(SHM) && this.shmBytes + bytes > SHM_BYTES;
    if (isShmFull || this.usedBytes + bytes > MAX_LAYER_BYTES) throw new FsError("ENOSPC", path);
  }

  /** A new file, folder or link. @throws FsError ENOSPC */
  addNode(path: string): void {
    if (this.nodeCount >= MAX_NODES) throw new FsError("ENOSPC", path);
    this.nodeCount++;
  }
}

/** The file's content in a buffer with room for `size` bytes. The room is zero. */
function enlarged({ bytes, size: before }: FileNode, size: number): Buffer {
  if (size < LARGE_BYTES) {
    const larger = Buffer.alloc(Math.max(size, bytes.length * 2));
    bytes.copy(larger, 0, 0, before);
    return larger;
  }
  const length = Math.min(size + GROWTH_BYTES, MAX_LAYER_BYTES);
  if (bytes.buffer instanceof ArrayBuffer && bytes.buffer.resizable) {
    bytes.buffer.resize(length);
    return Buffer.from(bytes.buffer, 0, length);
  }
  const larger = Buffer.from(new ArrayBuffer(length, { maxByteLength: MAX_LAYER_BYTES }), 0, length);
  bytes.copy(larger, 0, 0, before);
  return larger;
}
