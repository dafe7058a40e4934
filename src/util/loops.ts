import { ChildAbort, onAbort } from "./abort.js";
import type { Clock } from "./clock.js";

/** Runs loops side by side; the first that ends, or fails, ends the others. */
export async function allUntilOneEnds(
  signal: AbortSignal,
  loops: readonly ((signal: AbortSignal) => Promise<void>)[],
): Promise<void> {
  using inner = new ChildAbort(signal);
  const running = loops.map((loop) => loop(inner.signal));
  try {
    await Promise.race(running);
  } finally {
    inner.abort();
    await Promise.allSettled(running);
  }
}

/** Waits for something, but no longer than `ms` of the clock: for what is good to have done before an end, and no more. */
export async function waitAtMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  try {
    // An aborted timer has lost the race.
    await Promise.race([work, clock.sleep(ms, timer.signal).catch(() => undefined)]);
  } finally {
    timer.abort();
  }
}

/** Resolves when the signal aborts: for what is open as long as nobody ends it. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** What `work` comes to, unless the signal aborts first; the work itself goes on. @throws the signal's reason */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const listener = onAbort(signal, () => reject(signal.reason));
    work.then(resolve, reject).finally(() => listener[Symbol.dispose]());
  });
}
