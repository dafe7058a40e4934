import type { Clock } from "./clock.js";
import type { Timer, Wait } from "./timer.js";

/** The clock of a machine that is wrong. Its waits are as long as those of the right one. */
export class OffsetClock implements Clock {
  /** @param offsetMs negative: it is late */
  constructor(
    readonly clock: Clock,
    readonly offsetMs: number,
  ) {}

  get speed(): number {
    return this.clock.speed ?? 1;
  }

  get isPaused(): boolean {
    return this.clock.isPaused === true;
  }

  now(): number {
    return this.clock.now() + this.offsetMs;
  }

  sleep(ms: number, signal?: AbortSignal, wait?: Wait): Promise<void> {
    return this.clock.sleep(ms, signal, wait);
  }

  timer(ms: number, onTime: () => void, wait?: Wait): Timer {
    return this.clock.timer(ms, onTime, wait);
  }
}
