import type { Clock } from "../../../util/clock.js";

/** A time limit of a program. Disposing it stops its timer. */
export interface Deadline extends Disposable {
  /** aborts with the process, and at the limit */
  readonly signal: AbortSignal;
  /** whether the limit has passed */
  readonly isOver: boolean;
}

/** @param ms undefined: no limit */
export function deadline(clock: Clock, ms: number | undefined, signal: AbortSignal): Deadline {
  if (ms === undefined) return { signal, isOver: false, [Symbol.dispose]: () => {} };
  const limit = new AbortController();
  const timer = clock.timer(ms, () => limit.abort());
  return {
    signal: AbortSignal.any([signal, limit.signal]),
    get isOver() {
      return limit.signal.aborted && !signal.aborted;
    },
    [Symbol.dispose]: () => timer.stop(),
  };
}
