import type { Clock } from "./clock.js";
import { OwnedClock } from "./owned-clock.js";
import type { Timer, Wait } from "./timer.js";

/** The clock of a machine that is wrong. The owners of its waits stay. */
export class OffsetClock extends OwnedClock {
  readonly #startMs: number;

  /**
   * @param offsetMs negative: it is late
   * @param rate how fast it is; 1.01: it gains 36 s in each hour, and its waits are shorter
   */
  constructor(
    clock: Clock,
    readonly offsetMs: number,
    readonly rate = 1,
  ) {
    super(clock);
    this.#startMs = clock.now();
  }

  override now(): number {
    const nowMs = super.now();
    const gainedMs = this.rate === 1 ? 0 : Math.round((nowMs - this.#startMs) * (this.rate - 1));
    return nowMs + gainedMs + this.offsetMs;
  }

  override sleep(ms: number, signal?: AbortSignal, wait?: Wait): Promise<void> {
    return super.sleep(ms / this.rate, signal, wait);
  }

  override timer(ms: number, onTime: () => void, wait?: Wait): Timer {
    return super.timer(ms / this.rate, onTime, wait);
  }
}
