import type { Clock } from "../clock.js";
import { ChildAbort, onAbort } from "./abort.js";

/** Runs loops concurrently. The first that ends or fails ends the others. */
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

/** Waits for `work`, at most `ms` of the clock. For optional work before a shutdown. */
export async function waitAtMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  try {
    // The timer was aborted because the work finished first.
    await Promise.race([work, clock.sleep(ms, timer.signal).catch(() => undefined)]);
  } finally {
    timer.abort();
  }
}

/** Resolves when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    onAbort(signal, resolve);
  });
}

/** The result of `work`, unless the signal aborts first; the work itself continues. @throws the signal's reason */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const listener = onAbort(signal, () => reject(signal.reason));
    work.then(resolve, reject).finally(() => listener[Symbol.dispose]());
  });
}

/**
 * Runs `body` for each item, at most `limit` at a time. After an error no other item starts; it rejects once the running ones have settled.
 */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  body: (item: T) => Promise<void>,
): Promise<void> {
  let rest = items.values();
  const lane = async () => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await body(next.value);
  };
  const lanes = Array.from({ length: Math.min(items.length, limit) }, async () => {
    try {
      await lane();
    } catch (error) {
      rest = [].values();
      throw error;
    }
  });
  for (const one of await Promise.allSettled(lanes)) if (one.status === "rejected") throw one.reason;
}
