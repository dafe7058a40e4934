/** The last lines that are kept, and the longest line. */
const MAX_LINES = 200;
const MAX_LINE = 1_000;

/** The last lines of a program's output, with repeated lines folded. */
export class LastLines {
  readonly #kept: { text: string; times: number }[] = [];
  readonly #partial = new Map<number, string>();

  /** @returns takes the pieces of one stream of the output */
  stream(): (piece: string) => void {
    const id = this.#partial.size;
    this.#partial.set(id, "");
    return (piece) => {
      const lines = ((this.#partial.get(id) ?? "") + piece).split("\n");
      this.#partial.set(id, (lines.pop() ?? "").slice(0, MAX_LINE));
      for (const line of lines) this.#keep(line.slice(0, MAX_LINE));
    };
  }

  #keep(text: string): void {
    const last = this.#kept.at(-1);
    if (last?.text === text) {
      last.times++;
      return;
    }
    this.#kept.push({ text, times: 1 });
    if (this.#kept.length > MAX_LINES) this.#kept.shift();
  }

  /** The lines, the oldest first: `connection refused … 200 times` for one that came 200 times in a row. */
  get lines(): readonly string[] {
    const kept = this.#kept.map(({ text, times }) => (times === 1 ? text : `${text} … ${times} times`));
    return [...kept, ...[...this.#partial.values()].filter((text) => text !== "")];
  }
}
