/** Lines of the history from a position on. */
export interface HistoryPart {
  readonly lines: readonly string[];
  /** how many lines between the asked position and the first of `lines` are gone */
  readonly leftOut: number;
  /** the position after the last of `lines` */
  readonly next: number;
}

interface HistoryLimits {
  readonly maxLines: number;
  /** characters */
  readonly maxSize: number;
}

const DEFAULT_LIMITS: HistoryLimits = { maxLines: 20_000, maxSize: 32 * 1024 * 1024 };

/** Keeps the last lines, for readers that come late or read at their own pace. A position counts the lines since the start. */
export class FactHistory {
  #lines: string[] = [];
  /** lines at the front of `#lines` that are gone */
  #gone = 0;
  /** position of the first of `#lines` */
  #offset = 0;
  #size = 0;

  constructor(readonly limits = DEFAULT_LIMITS) {}

  push(line: string): void {
    this.#lines.push(line);
    this.#size += line.length;
    const { maxLines, maxSize } = this.limits;
    while (this.#lines.length - this.#gone > maxLines || this.#size > maxSize) this.#forget();
  }

  #forget(): void {
    this.#size -= this.#lines[this.#gone]?.length ?? 0;
    this.#lines[this.#gone] = "";
    this.#gone += 1;
    // Drops lines in batches, because each removal moves all lines.
    if (this.#gone < this.limits.maxLines && this.#gone < this.#lines.length) return;
    this.#lines = this.#lines.slice(this.#gone);
    this.#offset += this.#gone;
    this.#gone = 0;
  }

  /** the position after the last line */
  get end(): number {
    return this.#offset + this.#lines.length;
  }

  /** @param maxSize characters; at least one line is returned if there is one */
  read(from: number, maxSize: number): HistoryPart {
    const first = Math.max(from, this.#offset + this.#gone);
    let next = first;
    for (let size = 0; next < this.end && size < maxSize; next++) size += this.#lines[next - this.#offset]?.length ?? 0;
    const lines = this.#lines.slice(first - this.#offset, next - this.#offset);
    return { lines, leftOut: first - from, next };
  }
}
