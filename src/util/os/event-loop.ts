import { performance } from "node:perf_hooks";
import { SystemClock } from "../clock.js";

/** Looks without a pause: a request on this machine mostly takes less. */
const QUICK_LOOKS = 200;
/** Then one look each millisecond, for two seconds: a request that never ends must not hold its caller. */
const MAX_LOOKS = 2_200;

/** Work that is going on elsewhere: see `elsewhere`. */
let elsewhereCount = 0;

/**
 * Counts work that Node does not list, in a thread or a new process, as this process's: the time of a held clock does not pass
 * before it is done. It must end.
 */
export async function elsewhere<T>(work: Promise<T>): Promise<T> {
  elsewhereCount++;
  try {
    return await work;
  } finally {
    elsewhereCount--;
  }
}

/** Requests to the file system, the resolver and the network that the process waits for. */
const OPEN_REQUEST = /Req(?:Callback|Promise|Wrap)?$|^ConnectWrap$/;

/**
 * Tells whether this process has anything left to do that waits for no timer.
 *
 * Loopback sockets and pipes deliver at once, so after one look of the event loop that finds nothing, nothing is on its
 * way to this process. Work in threads of libuv that Node does not list is seen only if it is counted: see `elsewhere`.
 */
export class EventLoop {
  #seen = handledEvents();
  readonly #wall = new SystemClock();

  /**
   * Waits until nothing is left to do.
   * @param own how many events the request for this call itself caused
   * @returns whether anything else happened since the last call
   */
  async settle(own = 0): Promise<boolean> {
    let quiet = 0;
    while (quiet < MAX_LOOKS || elsewhereCount > 0) {
      const before = handledEvents();
      // Two immediates have one whole look at all sockets between them.
      await nextLook();
      await nextLook();
      if (handledEvents() !== before) quiet = 0;
      else if (!hasOpenRequests()) break;
      else if (++quiet > QUICK_LOOKS) await this.#wall.sleep(1);
    }
    const wasActive = handledEvents() - this.#seen > own;
    this.#seen = handledEvents();
    return wasActive;
  }
}

function handledEvents(): number {
  return performance.nodeTiming.uvMetricsInfo.events;
}

function hasOpenRequests(): boolean {
  return elsewhereCount > 0 || process.getActiveResourcesInfo().some((name) => OPEN_REQUEST.test(name));
}

function nextLook(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
