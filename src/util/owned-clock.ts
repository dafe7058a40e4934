import type { Clock } from "./clock.js";
import { defined } from "./defined.js";
import type { Timer, Wait } from "./timer.js";

/** A clock as one part has it: its timers are told as those of `who`, if given. */
export class OwnedClock implements Clock {
  /** @param who `kubelet node-1` */
  constructor(
    readonly clock: Clock,
    readonly who?: string,
  ) {}

  get speed(): number {
    return this.clock.speed ?? 1;
  }

  get isPaused(): boolean {
    return this.clock.isPaused === true;
  }

  get takesTurns(): boolean {
    return this.clock.takesTurns === true;
  }

  now(): number {
    return this.clock.now();
  }

  sleep(ms: number, signal?: AbortSignal, wait?: Wait): Promise<void> {
    return this.clock.sleep(ms, signal, this.#owned(wait));
  }

  timer(ms: number, onTime: () => void, wait?: Wait): Timer {
    return this.clock.timer(ms, onTime, this.#owned(wait));
  }

  #owned(wait: Wait | undefined): Wait | undefined {
    return wait && { ...defined({ who: this.who }), ...wait };
  }
}
