import { watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AsyncQueue } from "../../util/async-queue.js";

/**
 * Tells which files below a path (or the file itself) have changed, until `signal` aborts.
 * @yields paths of files that were made, written, renamed or removed
 * @throws when the path cannot be watched
 */
export type PathWatcher = (path: string, signal: AbortSignal) => AsyncIterable<string>;

/** With more changes that wait the whole folder is read. As many as the kernel keeps: fs.inotify.max_queued_events. */
const MAX_WAITING = 16_384;

/**
 * Mirrors doWatch in pkg/kubelet/config/file_linux.go.
 * Differs: of a single file the folder is watched, so that a file which is replaced (as editors do) is not lost. And the
 * changes are queued here: the watch of node:fs/promises loses what happens while its reader is busy with the one before,
 * which is the second half of each rename.
 */
export async function* watchPath(path: string, signal: AbortSignal): AsyncGenerator<string> {
  const isFolder = (await stat(path)).isDirectory();
  const folder = isFolder ? path : dirname(path);
  const changes = new AsyncQueue<string>(MAX_WAITING);
  const watcher = watch(folder, (_event, filename) => {
    if (filename === null || !(isFolder || filename === basename(path))) return;
    if (!changes.push(join(folder, filename))) changes.fail(new Error("more changes at once than can be told"));
  });
  watcher.on("error", (error) => changes.fail(error));
  try {
    yield* changes.iterate(signal);
  } finally {
    watcher.close();
  }
}
