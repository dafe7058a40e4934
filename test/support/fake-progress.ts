import type { Progress, ProgressReporter, ProgressText } from "../../src/testbed/context.js";

/** Keeps the open progress lines. */
export class FakeProgress implements ProgressReporter {
  readonly #open = new Map<symbol, ProgressText>();

  progress(text: ProgressText): Progress {
    const id = Symbol();
    this.#open.set(id, text);
    const stop = () => this.#open.delete(id);
    return { update: (next) => this.#open.set(id, next), stop, [Symbol.dispose]: stop };
  }

  lines(columns: number): string[] {
    return [...this.#open.values()].map((text) => (typeof text === "string" ? text : text(columns)));
  }
}
