import { goQuote } from "./go-text.js";

/**
 * How deep lists and objects may be inside of each other. What walks through values calls itself for each level, and a stack
 * that is full ends the process. Differs: Go's decoder allows 10,000.
 */
export const MAX_DEPTH = 500;
/** A text so short cannot hold more. */
const SHALLOW_LENGTH = MAX_DEPTH;

/**
 * A JSON text from outside as a value.
 * @param fail makes the error out of Go's text
 */
export function parseJson(text: string, fail: (problem: string) => Error): unknown {
  if (text.length > SHALLOW_LENGTH && isTooDeep(text)) throw fail("exceeded max depth");
  try {
    return JSON.parse(text);
  } catch {
    // JSON.parse words it differently from one Node release to the next.
    throw fail(jsonSyntaxError(text));
  }
}

/** In one pass, without reading more than brackets and quotes. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++depth > MAX_DEPTH) return true;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        break;
      case QUOTE:
        i = endOfString(text, i);
    }
  }
  return false;
}

/** Whether a value that did not come as text has more levels. Keeps its own stack. */
export function isDeeper(value: unknown, maxDepth: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true;
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return false;
}

/** Where the string that begins at `start` ends: at its closing quote, or with the text. */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

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

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these in strings
const PLAIN = /[^"\\\u0000-\u001f]+/y;
const VALUE_START = /[{["\-0-9tfn]/;
const ELEMENT_START = /[{["\-0-9tfn\]]/;

class Scanner {
  #at = 0;
  constructor(readonly text: string) {}

  /** The next character, which must pass `isGood`. The end counts as a blank where a blank would be wrong. */
  #take(isGood: RegExp, context: string): string {
    const char = this.text[this.#at] ?? (INSIDE_TOKEN.test(context) ? " " : undefined);
    if (char === undefined) throw new SyntaxProblem("unexpected end of JSON input");
    if (!isGood.test(char)) throw new SyntaxProblem(`invalid character ${quoteChar(firstByte(char))} ${context}`);
    this.#at++;
    return char;
  }

  #skipSpace(): void {
    while (/[ \t\r\n]/.test(this.text[this.#at] ?? "x")) this.#at++;
  }

  value(isGood = VALUE_START): string {
    this.#skipSpace();
    const first = this.#take(isGood, "looking for beginning of value");
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
    if (this.value(ELEMENT_START) === "]") return;
    for (;;) {
      this.#skipSpace();
      if (this.#take(/[,\]]/, "after array element") === "]") return;
      this.value();
    }
  }

  #string(): void {
    for (;;) {
      PLAIN.lastIndex = this.#at;
      if (PLAIN.test(this.text)) this.#at = PLAIN.lastIndex;
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

/** Go reads bytes: of other characters the first one is shown, as if it were Latin-1. */
function firstByte(char: string): string {
  return /[\ud800-\udfff]/.test(char) ? "\u00f0" : String.fromCharCode(Buffer.from(char)[0] ?? 0);
}

function quoteChar(char: string): string {
  if (char === "'") return "'\\''";
  if (char === '"') return "'\"'";
  return `'${goQuote(char).slice(1, -1)}'`;
}
