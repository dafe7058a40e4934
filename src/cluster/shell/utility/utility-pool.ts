import { SystemClock } from "../../../util/clock.js";
import type { UtilityCommand, UtilityResult } from "./messages.js";
import { type UtilityListener, UtilityProcess } from "./utility-process.js";

/** Commands that run at the same time: of all containers, and of one. */
const MAX_RUNNING = 8;
const MAX_RUNNING_PER_OWNER = 2;
/** How long an idle process is used again: starting one takes a fifth of a second. Later it ends itself. */
const MAX_IDLE_MS = 10_000;

interface Waiter {
  readonly owner: object;
  readonly start: () => void;
}

/** Utility processes, which start on demand. One stays for a while. */
export class UtilityPool {
  readonly #clock = new SystemClock();
  readonly #running = new Map<UtilityProcess, object>();
  #waiting: Waiter[] = [];
  #idle: UtilityProcess | undefined;
  #idleSinceMs = 0;

  /**
   * Runs a command, after others if there are too many.
   * @param owner the container
   * @throws as UtilityProcess.run
   */
  async run(
    owner: object,
    command: UtilityCommand,
    listener: UtilityListener,
    signal: AbortSignal,
  ): Promise<UtilityResult> {
    while (!this.#hasRoom(owner)) await this.#room(owner, signal);
    const process = this.#take();
    this.#running.set(process, owner);
    try {
      return await process.run(command, listener, signal);
    } finally {
      this.#running.delete(process);
      this.#keep(process);
      this.#startNext();
    }
  }

  #hasRoom(owner: object): boolean {
    const own = [...this.#running.values()].filter((one) => one === owner).length;
    return this.#running.size < MAX_RUNNING && own < MAX_RUNNING_PER_OWNER;
  }

  /** @throws the signal's reason */
  async #room(owner: object, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw signal.reason;
    await new Promise<void>((start, reject) => {
      const waiter = { owner, start };
      this.#waiting.push(waiter);
      signal.addEventListener(
        "abort",
        () => {
          this.#waiting = this.#waiting.filter((one) => one !== waiter);
          reject(signal.reason);
        },
        { once: true },
      );
    });
  }

  #startNext(): void {
    const next = this.#waiting.find(({ owner }) => this.#hasRoom(owner));
    if (next === undefined) return;
    this.#waiting = this.#waiting.filter((one) => one !== next);
    next.start();
  }

  #take(): UtilityProcess {
    const process = this.#idle;
    this.#idle = undefined;
    if (process?.isUsable !== true) return new UtilityProcess();
    if (this.#clock.now() - this.#idleSinceMs <= MAX_IDLE_MS) return process;
    process.kill();
    return new UtilityProcess();
  }

  #keep(process: UtilityProcess): void {
    if (this.#idle?.isUsable === true || !process.isUsable) {
      process.kill();
      return;
    }
    this.#idle = process;
    this.#idleSinceMs = this.#clock.now();
  }
}
