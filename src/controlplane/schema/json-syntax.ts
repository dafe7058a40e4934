import { goQuote } from "./go-text.js";

/**
 * What Go's encoding/json says about a text that is not JSON: `unexpected end of JSON input`, `invalid character ']' looking
 * for beginning of object key string`. Called only once JSON.parse has refused the text.
 * Mirrors encoding/json/scanner.go.
 */
export function jsonSyntaxError(text: string): string {
  try {
    const scanner = new Scanner(text);
    scanner.value();
    scanner.end();
  } catch (error) {
    if (error instanceof SyntaxProblem) return error.message;
    throw error;
  }
  return "unexpected end of JSON input";
}

class SyntaxProblem extends Error {
  override readonly name = "SyntaxProblem";
}

/** Where no blank may stand. */
const INSIDE_TOKEN = /^(?:in (?!string literal)|after decimal point)/;

class Scanner {
  #at = 0;
  constructor(readonly text: string) {}

  /** The next character, which must pass `isGood`. The end counts as a blank where a blank would be wrong. */
  #take(isGood: RegExp, context: string): string {
    const char = this.text[this.#at] ?? (INSIDE_TOKEN.test(context) ? " " : undefined);
    if (char === undefined) throw new SyntaxProblem("unexpected end of JSON input");
    // Go reads bytes: of other characters the first one is shown, as if it were Latin-1.
    const byte = String.fromCharCode(Buffer.from(char)[0] ?? 0);
    const isSurrogate = /[\ud800-\udfff]/.test(char);
    if (!isGood.test(char))
      throw new SyntaxProblem(`invalid character ${quoteChar(isSurrogate ? "\u00f0" : byte)} ${context}`);
    this.#at++;
    return char;
  }

  #skipSpace(): void {
    while (/[ \t\r\n]/.test(this.text[this.#at] ?? "x")) this.#at++;
  }

  value(extra = ""): string {
    this.#skipSpace();
    const first = this.#take(new RegExp(`[{\\["\\-0-9tfn${extra}]`), "looking for beginning of value");
    if (first === "{") this.#object();
    else if (first === "[") this.#array();
    else if (first === '"') this.#string();
    else if (first === "t") this.#word("true");
    else if (first === "f") this.#word("false");
    else if (first === "n") this.#word("null");
    else if (first !== "]") this.#number(first);
    return first;
  }

  end(): void {
    this.#skipSpace();
    if (this.#at < this.text.length) this.#take(/(?!)/, "after top-level value");
  }

  #object(): void {
    this.#skipSpace();
    if (this.#take(/["}]/, "looking for beginning of object key string") === "}") return;
    for (;;) {
      this.#string();
      this.#skipSpace();
      this.#take(/:/, "after object key");
      this.value();
      this.#skipSpace();
      if (this.#take(/[,}]/, "after object key:value pair") === "}") return;
      this.#skipSpace();
      this.#take(/"/, "looking for beginning of object key string");
    }
  }

  #array(): void {
    if (this.value("\\]") === "]") return;
    for (;;) {
      this.#skipSpace();
      if (this.#take(/[,\]]/, "after array element") === "]") return;
      this.value();
    }
  }

  #string(): void {
    for (;;) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these in strings
      const char = this.#take(/[^\u0000-\u001f]/, "in string literal");
      if (char === '"') return;
      if (char !== "\\") continue;
      const letter = this.#take(/["\\/bfnrtu]/, "in string escape code");
      for (let i = 0; letter === "u" && i < 4; i++) this.#take(/[0-9a-fA-F]/, "in \\u hexadecimal character escape");
    }
  }

  #word(word: string): void {
    for (const letter of word.slice(1))
      this.#take(new RegExp(letter), `in literal ${word} (expecting ${quoteChar(letter)})`);
  }

  #number(first: string): void {
    const start = first === "-" ? this.#take(/\d/, "in numeric literal") : first;
    if (start !== "0") this.#digits();
    if (this.text[this.#at] === ".") {
      this.#at++;
      this.#take(/\d/, "after decimal point in numeric literal");
      this.#digits();
    }
    if (/[eE]/.test(this.text[this.#at] ?? "")) {
      this.#at++;
      if (/[+-]/.test(this.text[this.#at] ?? "")) this.#at++;
      this.#take(/\d/, "in exponent of numeric literal");
      this.#digits();
    }
  }

  #digits(): void {
    while (/\d/.test(this.text[this.#at] ?? "")) this.#at++;
  }
}

function quoteChar(char: string): string {
  if (char === "'") return "'\\''";
  if (char === '"') return "'\"'";
  return `'${goQuote(char).slice(1, -1)}'`;
}
