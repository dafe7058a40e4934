import { lstatSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";

/** The unit of `st_blocks`. */
const BYTES_PER_BLOCK = 512;
/** Synchronous calls cost a sixth of asynchronous ones. After this many, the rest of the kubelet gets its turn. */
const FILES_PER_TURN = 256;

/** Bytes on disk, and files and folders. */
export interface DiskUsage {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/** The sum of the known figures of several folders or file systems. */
export function sumDiskUsage(parts: readonly (Partial<DiskUsage> | undefined)[]): DiskUsage {
  return {
    usedBytes: parts.reduce((sum, part) => sum + (part?.usedBytes ?? 0), 0),
    inodesUsed: parts.reduce((sum, part) => sum + (part?.inodesUsed ?? 0), 0),
  };
}

/**
 * The size of a folder, itself included. Links are not followed, a file with several names counts once, and files that
 * disappear meanwhile do not count. Mirrors DiskUsage in pkg/volume/util/fs/fs.go.
 * @throws the signal's reason
 */
export async function diskUsage(path: string, signal: AbortSignal): Promise<DiskUsage> {
  signal.throwIfAborted();
  const seen = new Set<number>();
  let usedBytes = 0;
  const waiting = [path];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const stats = statOf(file);
    if (stats === undefined || seen.has(stats.ino)) continue;
    seen.add(stats.ino);
    usedBytes += stats.blocks * BYTES_PER_BLOCK;
    if (stats.isDirectory()) for (const name of namesIn(file)) waiting.push(join(file, name));
    if (seen.size % FILES_PER_TURN !== 0) continue;
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
  }
  return { usedBytes, inodesUsed: seen.size };
}

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // below a folder that cannot be read
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // it has disappeared, or cannot be read
  }
}
