import type { Mutex } from "../../../util/async/mutex.js";
import { LabError } from "../../../util/errors.js";
import type { Random } from "../../../util/random.js";
import type { LabMessage } from "./message.js";
import type { LabSession } from "./session.js";

export interface TaskWatchDeps {
  readonly random: Random;
  /** of everything that moves the session */
  readonly turns: Mutex;
  /** called before the verdict, in the turn @returns called after the verdict, when shells know it too */
  readonly suspend?: () => Promise<() => Promise<void>>;
}

/** Finishes each task of a session by itself as soon as it is done. */
export class TaskWatch implements AsyncDisposable {
  #step: string | undefined;
  #stop = new AbortController();
  #watching: Promise<void> = Promise.resolve();

  constructor(
    readonly session: LabSession,
    readonly deps: TaskWatchDeps,
  ) {}

  /** Follows the session by its messages. */
  note(message: LabMessage): void {
    if (message.kind === "done") this.#end();
    if (message.kind !== "step" || message.id === this.#step) return;
    this.#end();
    this.#step = message.id;
    this.#stop = new AbortController();
    const before = this.#watching;
    this.#watching = this.#watch(this.#stop.signal).then(() => before);
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { random, turns, suspend } = this.deps;
    try {
      const finish = await this.session.untilDone(random, signal);
      if (finish === undefined) return;
      await turns.run(async () => {
        if (signal.aborted) return;
        const notice = await suspend?.();
        finish();
        await notice?.();
      });
    } catch (error) {
      // A check that cannot be evaluated is left to the learner, who sees its error.
      if (!signal.aborted && !(error instanceof LabError)) throw error;
    }
  }

  #end(): void {
    this.#step = undefined;
    this.#stop.abort();
  }

  /** @throws what stopped a watch */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end();
    await this.#watching;
  }
}
