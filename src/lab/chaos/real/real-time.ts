import type { Passed } from "../../../testbed/time/held-time.js";
import type { Clock } from "../../../util/clock.js";

/** Time that passes by itself, in place of held time: foreign parts have no virtual clock. */
export class RealTime {
  constructor(readonly clock: Clock) {}

  during<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  async settle() {
    return { wasActive: false, timers: [] };
  }

  async jump(ms: number, signal: AbortSignal): Promise<Passed> {
    await this.clock.sleep(ms, signal);
    return { ms, ran: [] };
  }
}
