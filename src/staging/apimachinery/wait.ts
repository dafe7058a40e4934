import { setMaxListeners } from "node:events";
import type { Trace } from "../../trace/trace.js";
import { ChildAbort } from "../../util/async/abort.js";
import type { Clock } from "../../util/clock.js";
import { isAbortError } from "../../util/errors.js";
import type { Wait } from "../../util/timer.js";

/**
 * Runs the loops of one controller concurrently. When one fails, stops the others and throws its error. Ends normally
 * when `signal` aborts.
 */
export async function concurrently(
  signal: AbortSignal,
  ...loops: readonly ((signal: AbortSignal) => Promise<unknown>)[]
): Promise<void> {
  if (signal.aborted) return;
  using together = new ChildAbort(signal);
  manyListeners(together.signal);
  let failure: { readonly error: unknown } | undefined;
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
  if (failure !== undefined && !signal.aborted) throw failure.error;
}

/** Every loop waits on this signal: many listeners are no leak and need no warning. */
export function manyListeners(signal: AbortSignal): void {
  setMaxListeners(0, signal);
}

/** Calls `pass` now, and again `periodMs` after each end. Mirrors wait.UntilWithContext in k8s.io/apimachinery. */
export async function every(
  { clock, trace }: { readonly clock: Pick<Clock, "sleep">; readonly trace: Trace },
  periodMs: number,
  pass: () => Promise<void>,
  signal: AbortSignal,
  wait?: Wait,
): Promise<never> {
  for (;;) {
    signal.throwIfAborted();
    await trace.origin("timer", pass);
    await clock.sleep(periodMs, signal, wait);
  }
}

/** Reports whether `error` is only the abort of `signal`. */
export function isEnd(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && (error === signal.reason || isAbortError(error));
}
