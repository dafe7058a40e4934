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
  const inner = new AbortController();
  const timer = new AbortController();
  const stop = () => {
    inner.abort(signal.reason);
    timer.abort();
  };
  signal.addEventListener("abort", stop, { once: true });
  const timeout = new ProbeTimeout("context deadline exceeded");
  const timesOut = clock.sleep(timeoutMs, timer.signal).then(
    () => inner.abort(timeout),
    () => undefined, // The body was quicker.
  );
  try {
    const result = await body(inner.signal);
    return result;
  } catch (error) {
    if (inner.signal.reason === timeout) throw timeout;
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
    timer.abort();
    await timesOut;
  }
}
