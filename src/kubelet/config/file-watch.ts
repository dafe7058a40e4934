import { stat, watch } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Tells which files below a path (or the file itself) have changed, until `signal` aborts.
 * @yields paths of files that were made, written, renamed or removed
 * @throws when the path cannot be watched
 */
export type PathWatcher = (path: string, signal: AbortSignal) => AsyncIterable<string>;

/**
 * Mirrors doWatch in pkg/kubelet/config/file_linux.go.
 * Differs: of a single file the folder is watched, so that a file which is replaced (as editors do) is not lost.
 */
export async function* watchPath(path: string, signal: AbortSignal): AsyncGenerator<string> {
  const isFolder = (await stat(path)).isDirectory();
  const folder = isFolder ? path : dirname(path);
  try {
    for await (const { filename } of watch(folder, { signal })) {
      if (filename === null) continue;
      if (isFolder || filename === basename(path)) yield join(folder, filename);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
