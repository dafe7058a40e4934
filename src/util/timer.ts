/** A scheduled call. */
export interface Timer {
  /** Cancels the call. Safe to call twice, and after the call. */
  stop(): void;
}

/** What a timer is for, in the words of a list of timers. */
export interface Wait {
  /** what happens then: `renew the Lease` */
  readonly what: string;
  /** the constant or field that sets the time: `renewInterval` */
  readonly setBy: string;
  /** whose it is: `kubelet node-1` */
  readonly who?: string;
  /** the value of the constant, in ms, if the wait is longer or shorter */
  readonly valueMs?: number;
}

/** A timer that has not run yet. */
export interface PendingTimer {
  /** Unix ms on the clock */
  readonly dueMs: number;
  /** the whole wait in ms, from its start */
  readonly waitMs: number;
  /** absent: a time limit or another detail */
  readonly wait?: Wait;
}

/** setTimeout takes at most a signed 32 bit count of milliseconds (24.8 days), so longer sleeps are split. */
const MAX_TIMER_MS = 2_000_000_000;

export interface TimerOptions {
  /** Unix ms on the clock, unrounded */
  readonly untilMs: number;
  /** the whole wait, in ms of the clock */
  readonly waitMs: number;
  readonly wait: Wait | undefined;
  readonly onTime: () => void;
}

/** A timer of a clock with its own speed: it restarts until the clock has reached its time. */
export class WallTimer implements Timer {
  #handle: NodeJS.Timeout | undefined;

  /**
   * @param leftMs wall-clock milliseconds until a time of the clock; Infinity while the clock stands still
   * @param all the timers of the clock, which looks at each after a change of its speed
   */
  constructor(
    readonly options: TimerOptions,
    readonly leftMs: (untilMs: number) => number,
    readonly all: Set<WallTimer>,
  ) {
    all.add(this);
    this.#restart(Math.max(0, leftMs(options.untilMs)));
  }

  get untilMs(): number {
    return this.options.untilMs;
  }

  get pending(): PendingTimer {
    const { untilMs, waitMs, wait } = this.options;
    return { dueMs: Math.ceil(untilMs), waitMs, ...(wait === undefined ? {} : { wait }) };
  }

  /** Runs the call if its time has come; otherwise waits for the rest. @param isDue its clock, which stands still, has reached its time */
  readonly look = (isDue = false): void => {
    clearTimeout(this.#handle);
    if (!this.all.has(this)) return;
    const ms = this.leftMs(this.untilMs);
    // setTimeout drops fractions of a millisecond, so it can fire early. A loop that counts ticks would count one twice.
    if (ms > 0 && !isDue) this.#restart(ms);
    else {
      this.stop();
      this.options.onTime();
    }
  };

  #restart(ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) return;
    this.#handle = setTimeout(() => this.look(), Math.min(Math.ceil(ms), MAX_TIMER_MS));
  }

  stop(): void {
    clearTimeout(this.#handle);
    this.all.delete(this);
  }
}
