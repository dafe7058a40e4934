import type { Clock } from "../../../util/clock.js";
import type { Timer } from "../../../util/timer.js";
import { type HeldMemory, OutOfMemoryError } from "../../shell/process/memory-account.js";

/** The simulated usage of a container, independent of its processes. */
export interface LoadSettings {
  /** the rate at which its first process takes memory */
  readonly leakBytesPerSecond: number;
  /** CPU, up to the container's limit */
  readonly burnMilliCores: number;
  /** of the writable layer */
  readonly fillBytes: number;
}

export interface LoadDeps {
  readonly clock: Clock;
  /** of the container's first process */
  readonly memory: HeldMemory;
  /** undefined: no limit. Mirrors the throttling of CFS bandwidth control. */
  readonly limitMilliCores: () => number | undefined;
}

const LEAK_STEP_MS = 1_000;
const NS_PER_MS_AND_MILLI_CORE = 1_000;

/** The simulated use of CPU, memory and disk by one container: defined by its image, or set by the runtime's control. */
export class ContainerLoad {
  #settings: LoadSettings = { leakBytesPerSecond: 0, burnMilliCores: 0, fillBytes: 0 };
  #burnedNanoSeconds = 0;
  #burnsSinceMs: number;
  #leak: Timer | undefined;
  #isOver = false;

  constructor(readonly deps: LoadDeps) {
    this.#burnsSinceMs = deps.clock.now();
  }

  get settings(): LoadSettings {
    return this.#settings;
  }

  /** Simulated CPU time up to now. */
  get coreNanoSeconds(): number {
    this.#countCpu();
    return this.#burnedNanoSeconds;
  }

  /** Changes the given values; the others stay. */
  set(changes: Partial<LoadSettings>): void {
    if (this.#isOver) return;
    this.#countCpu();
    this.#settings = { ...this.#settings, ...changes };
    if (changes.leakBytesPerSecond === undefined) return;
    this.#leak?.stop();
    this.#leak = undefined;
    if (changes.leakBytesPerSecond > 0) this.#leakLater();
  }

  /** Takes memory at once. The container may be killed for it. */
  take(bytes: number): void {
    try {
      this.deps.memory.report(bytes);
    } catch (error) {
      if (!(error instanceof OutOfMemoryError)) throw error;
      this.end();
    }
  }

  /** The container has ended. */
  end(): void {
    this.#countCpu();
    this.#isOver = true;
    this.#leak?.stop();
    this.#settings = { ...this.#settings, leakBytesPerSecond: 0, burnMilliCores: 0 };
  }

  #leakLater(): void {
    this.#leak = this.deps.clock.timer(LEAK_STEP_MS, () => {
      this.take((this.#settings.leakBytesPerSecond * LEAK_STEP_MS) / 1000);
      if (!this.#isOver) this.#leakLater();
    });
  }

  #countCpu(): void {
    const { clock, limitMilliCores } = this.deps;
    const nowMs = clock.now();
    const milliCores = Math.min(this.#settings.burnMilliCores, limitMilliCores() ?? Number.POSITIVE_INFINITY);
    if (!this.#isOver) this.#burnedNanoSeconds += (nowMs - this.#burnsSinceMs) * milliCores * NS_PER_MS_AND_MILLI_CORE;
    this.#burnsSinceMs = nowMs;
  }
}
