import { ChildAbort } from "../../util/async/abort.js";
import type { Clock } from "../../util/clock.js";

/** The probe's timeout is over. */
export class ProbeTimeout extends Error {
  override readonly name = "ProbeTimeout";
}

/**
 * Runs `body` with a signal that aborts after `timeoutMs`, or with `signal`.
 * @throws ProbeTimeout after the timeout; the signal's reason; errors of `body`
 */
export async function withTimeout<T>(
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
  body: (inner: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  using inner = new ChildAbort(signal);
  using timer = new ChildAbort(signal);
  const timeout = new ProbeTimeout("context deadline exceeded");
  const timesOut = clock.sleep(timeoutMs, timer.signal).then(
    () => inner.abort(timeout),
    () => undefined, // The body was quicker.
  );
  try {
    return await body(inner.signal);
  } catch (error) {
    if (inner.signal.reason === timeout) throw timeout;
    signal.throwIfAborted();
    throw error;
  } finally {
    timer.abort();
    await timesOut;
  }
}
