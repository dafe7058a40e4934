import { Worker } from "node:worker_threads";
import { beforeEach, expect } from "vitest";

/** No test blocks the event loop for so long, on any machine. */
const BLOCKED_MS = 5 * 60_000;
/** No file takes so long. */
const FILE_MS = 30 * 60_000;

/*
 * Ends a file's process that would never end, and prints where it is. Time limits of tests are timers, which do not run while the
 * event loop is blocked, and loading a file has no limit: the whole run would stand still without a word.
 */
const beats = new Int32Array(new SharedArrayBuffer(4));
const watcher = new Worker(new URL("hang-watcher.mjs", import.meta.url), {
  workerData: {
    beats,
    file: expect.getState().testPath,
    blockedMs: Number(process.env["KUBELAB_TEST_BLOCKED_MS"] ?? BLOCKED_MS),
    fileMs: Number(process.env["KUBELAB_TEST_FILE_MS"] ?? FILE_MS),
  },
});
watcher.unref();
setInterval(() => Atomics.add(beats, 0, 1), 500).unref();
beforeEach(({ task }) => watcher.postMessage(task.fullTestName));
