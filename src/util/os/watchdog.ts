import type { Worker } from "node:worker_threads";

/** Runs in a thread: the main thread may be too busy to notice. */
const WATCHDOG = `
const { workerData: patience } = require("node:worker_threads");
const parent = process.ppid;
let seconds = 0;
setInterval(() => { if (process.ppid !== parent && seconds++ >= patience) process.kill(process.pid, "SIGKILL"); }, 1000);
`;

/**
 * Ends this process after its parent, also while the main thread is busy. Starting it takes some ms.
 * @param patienceS seconds that the process has to end by itself
 * @returns the thread, which keeps the process alive unless it is unreferenced
 */
export async function endWithParent(patienceS = 0): Promise<Worker> {
  const { Worker } = await import("node:worker_threads");
  return new Worker(WATCHDOG, { eval: true, workerData: patienceS });
}
