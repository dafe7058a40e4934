import type { ServerResponse } from "node:http";
import type { Clock } from "../../util/clock.js";

/** A client that reads nothing for so long is cut off: what waits for it is memory of all. */
const MAX_STALLED_MS = 60_000;

/**
 * Waits until the client has read what was written.
 * @param signal the end of the answer, for whatever reason
 * @returns false when it takes too long; true also when the answer is over: the next write shows it
 */
export async function drained(response: ServerResponse, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const waiting = new AbortController();
  const stop = () => waiting.abort();
  if (signal.aborted) return true;
  signal.addEventListener("abort", stop, { once: true });
  response.once("drain", stop);
  try {
    await clock.sleep(MAX_STALLED_MS, waiting.signal);
    return false;
  } catch {
    return true;
  } finally {
    signal.removeEventListener("abort", stop);
    response.off("drain", stop);
  }
}
