import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

/** What the kernel counts in `st_blocks`. */
const BYTES_PER_BLOCK = 512;

/** Bytes on disk, and files and folders. */
export interface DiskUsage {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/**
 * What a folder holds, itself included; links are not followed, and what goes meanwhile does not count.
 * Mirrors DiskUsage in pkg/volume/util/fs/fs.go.
 * @throws the signal's reason
 */
export async function diskUsage(path: string, signal: AbortSignal): Promise<DiskUsage> {
  signal.throwIfAborted();
  let usedBytes = 0;
  let inodesUsed = 0;
  const count = async (one: string) => {
    const { blocks } = await lstat(one);
    usedBytes += blocks * BYTES_PER_BLOCK;
    inodesUsed++;
  };
  try {
    await count(path);
    for (const entry of await readdir(path, { withFileTypes: true })) {
      const inner = join(path, entry.name);
      if (!entry.isDirectory()) {
        await count(inner).catch(ignore);
        continue;
      }
      const below = await diskUsage(inner, signal);
      usedBytes += below.usedBytes;
      inodesUsed += below.inodesUsed;
    }
  } catch {
    // The folder has gone.
    signal.throwIfAborted();
  }
  return { usedBytes, inodesUsed };
}

/** The file has gone. */
function ignore(): void {}
