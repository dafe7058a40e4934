import { HeldTime } from "../../../testbed/time/held-time.js";
import type { SystemClock } from "../../../util/clock.js";

/** The virtual time between two looks of a check: what it waits for can last as short as this. */
const STRIDE_MS = 1_000;

/** Lets the lab's waits end without their real time, when the learner asks for it: "jump there". */
export class LabJump {
  readonly #time: HeldTime;
  #isAsked = false;
  #waits = 0;

  constructor(readonly clock: SystemClock) {
    this.#time = new HeldTime(clock);
  }

  /** The present wait jumps from now on. */
  ask(): void {
    this.#isAsked = this.#waits > 0;
  }

  /** A wait lasts until the result is disposed of. The time then passes again, unless somebody held it before. */
  wait(): Disposable {
    const wasPaused = this.clock.isPaused;
    this.#waits += 1;
    return {
      [Symbol.dispose]: () => {
        this.#waits -= 1;
        if (!this.#isAsked || this.#waits > 0) return;
        this.#isAsked = false;
        if (!wasPaused) this.clock.resume();
      },
    };
  }

  /** Moves the time on, timer by timer. @param leftMs the rest of the wait @returns false if nobody has asked for it */
  async pass(leftMs: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#isAsked) return false;
    await this.#time.jump(Math.max(1, Math.min(STRIDE_MS, leftMs)), signal);
    return true;
  }
}
