import type { Clock } from "../../util/clock.js";
import { FsError } from "./fs-error.js";
import type { FileNode } from "./nodes.js";

/** The limit for a container's writable layer, which is in this process's memory. */
const MAX_LAYER_BYTES = 128 * 1024 * 1024;

/** Writes to a container's own files and counts their size. `path` is for the ENOSPC error. */
export class Layer {
  usedBytes = 0;

  constructor(readonly clock: Clock) {}

  put(node: FileNode, bytes: Uint8Array, offset: number, path: string): void {
    const end = offset + bytes.length;
    if (end > node.bytes.length) {
      const larger = Buffer.alloc(Math.max(end, node.bytes.length * 2));
      node.bytes.copy(larger, 0, 0, node.size);
      node.bytes = larger;
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
    if (this.usedBytes + bytes > MAX_LAYER_BYTES) throw new FsError("ENOSPC", path);
    this.usedBytes += bytes;
  }
}
