/** A line of a file, or a piece of one that is too long to be held as a whole. */
export interface FileLine {
  readonly bytes: Buffer;
  /** an earlier piece holds its beginning */
  readonly isContinued: boolean;
  /** it ends here; false: more follows, or the file ends without a line feed */
  readonly isComplete: boolean;
}

const NEWLINE = 0x0a;
/** A runtime writes at most 16 KB per line. Longer lines are split, so that no file can exhaust the memory. */
const MAX_HELD_BYTES = 1024 * 1024;

/** Splits blocks of a file into lines; text after the last line feed waits for the next block. */
export class LineSplitter {
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isContinued = false;

  constructor(readonly maxHeldBytes = MAX_HELD_BYTES) {}

  /** @param block must not be changed afterwards: lines are views of it */
  push(block: Buffer): FileLine[] {
    const lines: FileLine[] = [];
    let from = 0;
    for (let at = block.indexOf(NEWLINE); at >= 0; at = block.indexOf(NEWLINE, from)) {
      lines.push(this.#take(block.subarray(from, at + 1), true));
      from = at + 1;
    }
    if (from < block.length) this.#hold(block.subarray(from));
    if (this.#heldBytes > this.maxHeldBytes) lines.push(this.#take(undefined, false));
    return lines;
  }

  /** Returns and clears the text after the last line feed. */
  end(): FileLine[] {
    return this.#heldBytes === 0 ? [] : [this.#take(undefined, true)];
  }

  #hold(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
  }

  #take(last: Buffer | undefined, isComplete: boolean): FileLine {
    if (last !== undefined) this.#held.push(last);
    const [only] = this.#held;
    const bytes = this.#held.length === 1 && only !== undefined ? only : Buffer.concat(this.#held);
    const line = { bytes, isContinued: this.#isContinued, isComplete };
    this.#held = [];
    this.#heldBytes = 0;
    this.#isContinued = !isComplete;
    return line;
  }
}
