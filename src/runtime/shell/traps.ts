import type { Self } from "../process/process.js";
import { SIGKILL } from "../process/signals.js";
import type { ShellState } from "./state.js";

/** The pseudo signal of `trap ... EXIT`. */
export const EXIT = 0;

/** What a shell was told to do about signals. A trap runs between two commands, or when it interrupts a wait. */
export class Traps {
  readonly #pending: number[] = [];
  #wake: (() => void)[] = [];
  #isRunning = false;

  constructor(
    readonly self: Self,
    readonly state: ShellState,
    readonly run: (command: string) => Promise<number>,
  ) {
    for (const [signal, command] of state.traps) this.set(signal, command);
  }

  /** @param command undefined: as if nothing had been said; empty: ignore */
  set(signal: number, command: string | undefined): void {
    if (command === undefined) this.state.traps.delete(signal);
    else this.state.traps.set(signal, command);
    if (signal === EXIT || signal === SIGKILL) return;
    if (command === undefined) this.self.onSignal(signal, "default");
    else if (command === "") this.self.onSignal(signal, "ignore");
    else {
      this.self.onSignal(signal, (number) => {
        this.#pending.push(number);
        const wake = this.#wake;
        this.#wake = [];
        for (const one of wake) one();
      });
    }
  }

  async runPending(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      for (let signal = this.#pending.shift(); signal !== undefined; signal = this.#pending.shift()) {
        const command = this.state.traps.get(signal);
        const { lastStatus } = this.state;
        if (command !== undefined && command !== "") await this.run(command);
        this.state.lastStatus = lastStatus;
      }
    } finally {
      this.#isRunning = false;
    }
  }

  /**
   * Waits for something that a trap may interrupt: `wait`, `read`.
   * @returns the signal that came first; undefined when what was waited for did
   */
  async orSignal(event: Promise<unknown>): Promise<number | undefined> {
    if (this.#pending.length > 0) return this.#pending[0];
    let wake = () => {};
    const interrupted = new Promise<"interrupted">((resolve) => {
      wake = () => resolve("interrupted");
      this.#wake.push(wake);
    });
    const first = await Promise.race([event, interrupted]);
    this.#wake = this.#wake.filter((one) => one !== wake);
    return first === "interrupted" ? this.#pending[0] : undefined;
  }

  /** The command for the end of the shell, once. */
  takeExit(): string | undefined {
    const command = this.state.traps.get(EXIT);
    this.state.traps.delete(EXIT);
    return command === "" ? undefined : command;
  }
}
