/** An escape sequence, or a character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const PARTS = /\u001b\[[\d;]*[A-Za-z]|./gsu;

/** A simple terminal screen for the line editor: its text and cursor, with unlimited rows. */
export class FakeScreen {
  #rows: string[][] = [[]];
  #row = 0;
  #column = 0;
  /** the last column is full: the next character starts a new line */
  #isWrapPending = false;

  constructor(readonly width: number) {}

  /** All rows joined. */
  get text(): string {
    return this.#rows
      .map((row) => Array.from({ length: this.width }, (_, index) => row[index] ?? " ").join(""))
      .join("");
  }

  /** The cursor's position, counted through all rows. */
  get place(): number {
    return this.#row * this.width + this.#column;
  }

  write(text: string): void {
    for (const [part] of text.matchAll(PARTS)) {
      if (part.startsWith("\x1b[")) this.#sequence(part.slice(2, -1), part.slice(-1));
      else this.#character(part);
    }
  }

  #character(char: string): void {
    if (char === "\r") this.#column = 0;
    else if (char === "\n") this.#row++;
    else if (char === "\b") this.#column = Math.max(0, this.#column - 1);
    else {
      this.#print(char);
      return;
    }
    this.#isWrapPending = false;
    while (this.#rows.length <= this.#row) this.#rows.push([]);
  }

  #print(char: string): void {
    if (this.#isWrapPending) {
      this.#isWrapPending = false;
      this.#column = 0;
      this.#row++;
      while (this.#rows.length <= this.#row) this.#rows.push([]);
    }
    (this.#rows[this.#row] as string[])[this.#column] = char;
    if (this.#column === this.width - 1) this.#isWrapPending = true;
    else this.#column++;
  }

  #sequence(argument: string, command: string): void {
    const count = Math.max(1, Number(argument) || 1);
    this.#isWrapPending = false;
    if (command === "A") this.#row = Math.max(0, this.#row - count);
    else if (command === "B") this.#row = Math.min(this.#rows.length - 1, this.#row + count);
    else if (command === "C") this.#column = Math.min(this.width - 1, this.#column + count);
    else if (command === "D") this.#column = Math.max(0, this.#column - count);
    else if (command === "H") {
      this.#row = 0;
      this.#column = 0;
    } else if (command === "J" && argument === "2") this.#rows = this.#rows.map(() => []);
    else if (command === "J") {
      this.#rows = this.#rows.map((row, index) =>
        index < this.#row ? row : index === this.#row ? row.slice(0, this.#column) : [],
      );
    } else throw new Error(`the screen does not know ${JSON.stringify(argument + command)}`);
  }
}
