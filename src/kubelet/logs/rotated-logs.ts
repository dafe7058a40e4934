import { createReadStream, createWriteStream } from "node:fs";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";

const COMPRESSED = ".gz";
const TEMPORARY = ".tmp";

/**
 * Makes room for one more rotated file: deletes incomplete files of earlier rotations, then the oldest files until at
 * most `maxFiles` remain with the new one and the current one, and compresses the rest.
 *
 * Mirrors cleanupUnusedLogs, removeExcessLogs and compressLog in pkg/kubelet/logs/container_log_manager.go.
 * @throws the file system's error; the signal's reason
 */
export async function makeRoomForRotated(path: string, maxFiles: number, signal: AbortSignal): Promise<void> {
  const folder = dirname(path);
  const all = (await readdir(folder)).filter((name) => name.startsWith(`${basename(path)}.`));
  const { inUse, unused } = splitRotated(all);
  const excess = inUse.slice(0, Math.max(0, inUse.length - Math.max(0, maxFiles - 2)));
  for (const name of [...unused, ...excess]) await rm(join(folder, name), { force: true });
  for (const name of inUse.slice(excess.length)) {
    if (!name.endsWith(COMPRESSED)) await compressLog(join(folder, name), signal);
  }
}

/**
 * Splits a log's rotated files into those in use, the oldest first, and leftovers: temporary files, and originals of
 * compressed ones. Mirrors filterUnusedLogs and isInUse. Pure.
 */
export function splitRotated(names: readonly string[]): {
  readonly inUse: readonly string[];
  readonly unused: readonly string[];
} {
  const known = new Set(names);
  const isUnused = (name: string) =>
    name.endsWith(TEMPORARY) || (!name.endsWith(COMPRESSED) && known.has(`${name}${COMPRESSED}`));
  return { inUse: names.filter((name) => !isUnused(name)).sort(), unused: names.filter(isUnused) };
}

/** Writes to a temporary name first, so that a reader finds the old file or the whole new one. Mirrors compressLog. */
async function compressLog(path: string, signal: AbortSignal): Promise<void> {
  const temporary = `${path}${TEMPORARY}`;
  try {
    const { mode } = await stat(path);
    await pipeline(createReadStream(path), createGzip(), createWriteStream(temporary, { mode }), { signal });
    await rename(temporary, `${path}${COMPRESSED}`);
    await rm(path, { force: true });
  } finally {
    await rm(temporary, { force: true });
  }
}
