import { setMaxListeners } from "node:events";
import { isAbortError } from "../../../util/errors.js";

/**
 * Runs the loops of one controller side by side. When one fails, the others are stopped, and its error is what comes out.
 * Ends normally when `signal` aborts.
 */
export async function concurrently(
  signal: AbortSignal,
  ...loops: readonly ((signal: AbortSignal) => Promise<unknown>)[]
): Promise<void> {
  const together = new AbortController();
  manyListeners(together.signal);
  const onAbort = () => together.abort(signal.reason);
  if (signal.aborted) return;
  signal.addEventListener("abort", onAbort, { once: true });
  let failure: { readonly error: unknown } | undefined;
  try {
    await Promise.all(
      loops.map(async (loop) => {
        try {
          await loop(together.signal);
        } catch (error) {
          if (!together.signal.aborted) failure = { error };
          together.abort(error);
        }
      }),
    );
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
  if (failure !== undefined && !signal.aborted) throw failure.error;
}

/** As many waits hang on this signal as there are loops: no leak, and no warning of one. */
export function manyListeners(signal: AbortSignal): void {
  setMaxListeners(0, signal);
}

/** Does `pass` now and then `periodMs` after each end. Mirrors wait.UntilWithContext in k8s.io/apimachinery. */
export async function every(
  clock: { sleep(ms: number, signal: AbortSignal): Promise<void> },
  periodMs: number,
  pass: () => Promise<void>,
  signal: AbortSignal,
): Promise<never> {
  for (;;) {
    signal.throwIfAborted();
    await pass();
    await clock.sleep(periodMs, signal);
  }
}

/** True when `error` is only the end that `signal` asked for. */
export function isEnd(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && (error === signal.reason || isAbortError(error));
}
