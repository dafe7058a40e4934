import { watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AsyncQueue } from "../../util/async/async-queue.js";

/**
 * Watches the files below a path (or the file itself) until `signal` aborts.
 * @yields paths of files that were created, written, renamed or removed
 * @throws when the path cannot be watched
 */
export type PathWatcher = (path: string, signal: AbortSignal) => AsyncIterable<string>;

/** If more changes are pending, the whole folder is read. The kernel's own limit: fs.inotify.max_queued_events. */
const MAX_WAITING = 16_384;

/**
 * Mirrors doWatch in pkg/kubelet/config/file_linux.go.
 * Differs: for a single file the folder is watched, so that a replaced file (as editors do) is not lost. Changes are
 * queued here, because the watch of node:fs/promises drops changes while its reader is busy: the second half of each
 * rename.
 */
export async function* watchPath(path: string, signal: AbortSignal): AsyncGenerator<string> {
  const isFolder = (await stat(path)).isDirectory();
  const folder = isFolder ? path : dirname(path);
  const changes = new AsyncQueue<string>(MAX_WAITING);
  const watcher = watch(folder, (_event, filename) => {
    if (filename === null || !(isFolder || filename === basename(path))) return;
    if (!changes.push(join(folder, filename))) changes.fail(new Error("too many changes at once"));
  });
  watcher.on("error", (error) => changes.fail(error));
  try {
    yield* changes.iterate(signal);
  } finally {
    watcher.close();
  }
}
