import type { Writable } from "node:stream";
import { ChildAbort } from "../../../../util/async/abort.js";
import type { Clock } from "../../../../util/clock.js";

/** A client that reads nothing for this long is disconnected, because its unsent data occupies shared memory. */
const MAX_STALLED_MS = 60_000;
/** Created once, because an error collects its stack, and a long list waits many times. */
const DRAINED = new DOMException("the client has read", "AbortError");

/**
 * Waits until the client has read the written data.
 * @param response or what compresses it
 * @param signal aborts at the end of the response, whatever the reason
 * @returns false on timeout; true also when the response has ended: the next write reports that
 */
export async function drained(response: Writable, clock: Clock, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return true;
  using waiting = new ChildAbort(signal);
  const stop = () => waiting.abort(DRAINED);
  response.once("drain", stop);
  try {
    await clock.sleep(MAX_STALLED_MS, waiting.signal);
    return false;
  } catch {
    return true;
  } finally {
    response.off("drain", stop);
  }
}
