/** Runs in a thread: the main thread may be too busy to notice. */
const WATCHDOG = `
const parent = process.ppid;
setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, "SIGKILL"); }, 1000);
`;

/** Ends this process after its parent, also while the main thread is busy. Starting it takes some ms. */
export async function endWithParent(): Promise<void> {
  const { Worker } = await import("node:worker_threads");
  new Worker(WATCHDOG, { eval: true });
}
