import type { Self } from "../process/process.js";
import { SIGINT, SIGKILL, SIGQUIT, SIGTERM } from "../process/signals.js";
import { Interrupted, type ShellState } from "./state.js";

/** The pseudo signal of `trap ... EXIT`. */
export const EXIT = 0;

/** The traps of a shell. A trap runs between two commands, or interrupts a wait. */
export class Traps {
  readonly #pending: number[] = [];
  #wake: (() => void)[] = [];
  #isRunning = false;
  #isInteractive = false;
  #isInterrupted = false;

  constructor(
    readonly self: Self,
    readonly state: ShellState,
    readonly run: (command: string) => Promise<number>,
  ) {
    for (const [signal, command] of state.traps) this.set(signal, command);
  }

  /** The shell has a terminal: ^C ends its command but not the shell, and the shell ignores SIGTERM. */
  becomeInteractive(): void {
    this.#isInteractive = true;
    for (const signal of [SIGINT, SIGQUIT, SIGTERM]) if (!this.state.traps.has(signal)) this.#setDefault(signal);
  }

  #setDefault(signal: number): void {
    if (this.#isInteractive && signal === SIGINT) {
      this.self.onSignal(signal, () => {
        this.#isInterrupted = true;
        this.#wakeAll();
      });
    } else if (this.#isInteractive && (signal === SIGQUIT || signal === SIGTERM)) this.self.onSignal(signal, "ignore");
    else this.self.onSignal(signal, "default");
  }

  #wakeAll(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const one of wake) one();
  }

  /** @param command undefined: default action; empty: ignore */
  set(signal: number, command: string | undefined): void {
    if (command === undefined) this.state.traps.delete(signal);
    else this.state.traps.set(signal, command);
    if (signal === EXIT || signal === SIGKILL) return;
    if (command === undefined) this.#setDefault(signal);
    else if (command === "") this.self.onSignal(signal, "ignore");
    else {
      this.self.onSignal(signal, (number) => {
        this.#pending.push(number);
        this.#wakeAll();
      });
    }
  }

  /** @throws Interrupted after ^C at an interactive shell */
  async runPending(): Promise<void> {
    if (this.#isInterrupted) {
      this.#isInterrupted = false;
      throw new Interrupted("interrupted");
    }
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
   * Waits for something that a trap can interrupt: `wait`, `read`.
   * @returns the signal that came first; undefined if the wait ended by itself
   */
  async orSignal(event: Promise<unknown>): Promise<number | undefined> {
    if (this.#isInterrupted) return SIGINT;
    if (this.#pending.length > 0) return this.#pending[0];
    let wake = () => {};
    const interrupted = new Promise<"interrupted">((resolve) => {
      wake = () => resolve("interrupted");
      this.#wake.push(wake);
    });
    const first = await Promise.race([event, interrupted]);
    this.#wake = this.#wake.filter((one) => one !== wake);
    return first === "interrupted" ? (this.#pending[0] ?? SIGINT) : undefined;
  }

  /** Returns the EXIT command, once. */
  takeExit(): string | undefined {
    const command = this.state.traps.get(EXIT);
    this.state.traps.delete(EXIT);
    return command === "" ? undefined : command;
  }
}
