import type { Clock } from "../../util/clock.js";
import type { Timer } from "../../util/timer.js";

/** Mirrors pkg/kubelet/cri/streaming/server.go (DefaultConfig: StreamIdleTimeout). */
export const DEFAULT_IDLE_TIMEOUT_MS = 4 * 3_600_000;

/** Reports once that nothing has happened for too long. */
export class IdleWatch {
  #lastMs: number;
  #timer: Timer;

  constructor(
    readonly clock: Clock,
    readonly timeoutMs: number,
    readonly onIdle: () => void,
  ) {
    this.#lastMs = clock.now();
    this.#timer = clock.timer(timeoutMs, this.#look);
  }

  touch(): void {
    this.#lastMs = this.clock.now();
  }

  readonly #look = (): void => {
    const leftMs = this.#lastMs + this.timeoutMs - this.clock.now();
    if (leftMs > 0) this.#timer = this.clock.timer(leftMs, this.#look);
    else this.onIdle();
  };

  stop(): void {
    this.#timer.stop();
  }
}
