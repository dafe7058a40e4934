import { Worker } from "node:worker_threads";
import { afterAll, afterEach, beforeEach, expect } from "vitest";

/** On any machine, no test blocks the event loop for so long, and a test begins or ends more often. */
const HANG_MS = 5 * 60_000;
/** A test with a longer time limit of its own ends soon after it. */
const GRACE_MS = 30_000;
const WATCHER = Symbol.for("kubelab.hang-watcher");

/*
 * Ends a file's process that would never end, and prints where it is. Time limits of tests are timers, which do not run while the
 * event loop is blocked, and loading a file has no limit: the whole run would stand still without a word. Each process has one
 * watching thread: the files of a worker share it.
 */
const shared = globalThis as { [WATCHER]?: Worker };
shared[WATCHER] ??= startWatcher();
const watcher = shared[WATCHER];

watcher.postMessage({ file: expect.getState().testPath });
afterAll(() => watcher.postMessage({ file: undefined }));
beforeEach(({ task }) => {
  watcher.postMessage({ begun: task.id, name: task.fullTestName, limitMs: task.timeout + GRACE_MS });
});
afterEach(({ task }) => watcher.postMessage({ ended: task.id }));

function startWatcher(): Worker {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const hangMs = Number(process.env["KUBELAB_TEST_HANG_MS"] ?? HANG_MS);
  const worker = new Worker(new URL("hang-watcher.mjs", import.meta.url), { workerData: { beats, hangMs } });
  worker.unref();
  setInterval(() => Atomics.add(beats, 0, 1), 500).unref();
  return worker;
}
