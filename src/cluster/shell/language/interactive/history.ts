/** busybox's CONFIG_FEATURE_EDITING_HISTORY */
const MAX_LINES = 255;

/** The lines that were entered before. */
export class History {
  readonly #lines: string[] = [];

  get length(): number {
    return this.#lines.length;
  }

  at(place: number): string | undefined {
    return this.#lines[place];
  }

  /** Ignores empty lines and repetitions. */
  add(line: string): void {
    if (line.trim() === "" || line === this.#lines.at(-1)) return;
    this.#lines.push(line);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }
}
