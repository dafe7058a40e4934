import type { Clock } from "./clock.js";
import { OwnedClock } from "./owned-clock.js";

/** The clock of a machine that is wrong. Its waits are as long as those of the right one, and their owners stay. */
export class OffsetClock extends OwnedClock {
  /** @param offsetMs negative: it is late */
  constructor(
    clock: Clock,
    readonly offsetMs: number,
  ) {
    super(clock);
  }

  override now(): number {
    return super.now() + this.offsetMs;
  }
}
