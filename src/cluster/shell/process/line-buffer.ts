/** Keys that a terminal in canonical mode interprets, by byte. Mirrors Linux's defaults (INIT_C_CC). */
const EOF = 0x04;
const ERASE = 0x7f;
/** Differs: Linux has one erase character; keyboards send either of these. */
const BACKSPACE = 0x08;
const KILL = 0x15;
const WORD_ERASE = 0x17;
const NEWLINE = 0x0a;
const TAB = 0x09;

/** Linux's MAX_CANON: further input is dropped until the line ends. */
const MAX_LINE_BYTES = 4096;

/** The effect of one typed byte. */
export interface Typed {
  /** the echo on the terminal */
  readonly echo: string | Uint8Array;
  /** input that is complete now: a line, or a part of one before ^D; empty for end of input */
  readonly line?: Buffer;
}

const NOTHING: Typed = { echo: "" };

/** The current line in canonical mode. Mirrors Linux's drivers/tty/n_tty.c (n_tty_receive_char_special, eraser). */
export class LineBuffer {
  #bytes: number[] = [];

  get isEmpty(): boolean {
    return this.#bytes.length === 0;
  }

  type(byte: number): Typed {
    switch (byte) {
      case NEWLINE:
        this.#bytes.push(byte);
        return { echo: "\n", line: this.take() };
      case EOF:
        return { echo: "", line: this.take() };
      case ERASE:
      case BACKSPACE:
        return { echo: this.#eraseCharacter() };
      case WORD_ERASE:
        return { echo: this.#eraseWord() };
      case KILL:
        return { echo: this.#eraseWhile(() => true) };
      default:
        if (this.#bytes.length >= MAX_LINE_BYTES - 1) return NOTHING;
        this.#bytes.push(byte);
        return { echo: isControl(byte) ? `^${caret(byte)}` : Uint8Array.of(byte) };
    }
  }

  /** Takes the input so far and clears the buffer. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes);
    this.#bytes = [];
    return taken;
  }

  #eraseCharacter(): string {
    let byte = this.#bytes.pop();
    if (byte === undefined) return "";
    // Erases a character of several bytes at once (IUTF8).
    while (byte !== undefined && (byte & 0xc0) === 0x80) byte = this.#bytes.pop();
    return byte !== undefined && isControl(byte) ? "\b \b\b \b" : "\b \b";
  }

  #eraseWord(): string {
    const spaces = this.#eraseWhile((byte) => !isWord(byte));
    return spaces + this.#eraseWhile(isWord);
  }

  #eraseWhile(matches: (byte: number) => boolean): string {
    let echo = "";
    for (let last = this.#bytes.at(-1); last !== undefined && matches(last); last = this.#bytes.at(-1)) {
      echo += this.#eraseCharacter();
    }
    return echo;
  }
}

/** Differs: an erased tab counts as one column. */
function isControl(byte: number): boolean {
  return byte < 0x20 && byte !== TAB;
}

/** The letter behind the `^` that a terminal echoes for a control character: `C` for 3, `?` for 127. */
export function caret(byte: number): string {
  return String.fromCharCode(byte ^ 0x40);
}

function isWord(byte: number): boolean {
  return byte >= 0x80 || /\w/.test(String.fromCharCode(byte));
}
