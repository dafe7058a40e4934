import { goQuote } from "./go-text.js";

/**
 * The limit for nested lists and objects. Functions that walk values recurse once per level, and a stack overflow would
 * end the process. Differs: Go's decoder allows 10,000.
 */
export const MAX_DEPTH = 500;
/**
 * The limit for values in one text. Two bytes of a text can become an object with all its defaults: an object that etcd
 * would store has far fewer values. Differs: upstream has no such limit.
 */
export const MAX_VALUES = 250_000;
/** A shorter text cannot exceed the limits. */
const SHORT_LENGTH = MAX_DEPTH;

/**
 * Parses a JSON text from outside.
 * @param fail creates the error from Go's message
 */
export function parseJson(text: string, fail: (problem: string) => Error): unknown {
  const excess = text.length > SHORT_LENGTH ? excessOf(text) : undefined;
  if (excess !== undefined) throw fail(excess);
  try {
    return JSON.parse(text);
  } catch {
    // The wording of JSON.parse differs between Node releases.
    throw fail(jsonSyntaxError(text));
  }
}

/** Which limit a text exceeds. Scans it once, reading only brackets, commas and strings. */
function excessOf(text: string): string | undefined {
  let depth = 0;
  let values = 1;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++depth > MAX_DEPTH) return "exceeded max depth";
        values++;
        break;
      case COMMA:
        values++;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        break;
      case QUOTE:
        i = endOfString(text, i);
    }
  }
  return values > MAX_VALUES ? TOO_MANY_VALUES : undefined;
}

export const TOO_MANY_VALUES = `exceeded max number of values of ${MAX_VALUES}`;

/** Reports whether a value that was not parsed from text is nested deeper. Keeps its own stack. */
export function isDeeper(value: unknown, maxDepth: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true;
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return false;
}

/** The end of the string that begins at `start`: its closing quote, or the end of the text. */
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
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** `duplicate field "spec.x"` for each duplicate key in the objects of a JSON text. */
export function duplicateFields(text: string): readonly string[] {
  const scanner = new Scanner(text);
  scanner.document();
  return [...scanner.duplicates];
}

/**
 * Go's message for a text that JSON.parse rejected: `unexpected end of JSON input`, `invalid character ']' looking for
 * beginning of object key string`.
 * Mirrors encoding/json/scanner.go.
 * Differs: uses one message for all errors inside a string or a number.
 */
export function jsonSyntaxError(text: string): string {
  try {
    new Scanner(text).document();
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.message;
    if (!(error instanceof SyntaxError)) throw error;
  }
  return "invalid character in string or numeric literal";
}

class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}

const LITERAL = /true|false|null|-?\d[\d.eE+-]*/y;

/** Walks through a JSON text whose depth `excessOf` has checked. */
class Scanner {
  readonly duplicates = new Set<string>();
  #at = 0;

  constructor(readonly text: string) {}

  /** @throws JsonSyntaxError, and SyntaxError for a key with a bad escape */
  document(): void {
    this.#value("");
    this.#skipSpace();
    if (this.#at < this.text.length) this.#fail("after top-level value");
  }

  #value(path: string): void {
    if (this.#takes("{")) this.#object(path);
    else if (this.#takes("[")) this.#array(path);
    else if (this.text[this.#at] === '"') this.#string();
    else {
      LITERAL.lastIndex = this.#at;
      if (!LITERAL.test(this.text)) this.#fail("looking for beginning of value");
      this.#at = LITERAL.lastIndex;
    }
  }

  #object(path: string): void {
    if (this.#takes("}")) return;
    const keys = new Set<string>();
    do {
      this.#skipSpace();
      if (this.text[this.#at] !== '"') this.#fail("looking for beginning of object key string");
      const raw = this.#string();
      if (this.#at >= this.text.length) this.#fail("after object key");
      const key = String(JSON.parse(raw));
      const place = path === "" ? key : `${path}.${key}`;
      if (keys.has(key)) this.duplicates.add(`duplicate field ${goQuote(place)}`);
      keys.add(key);
      this.#expect(":", "after object key");
      this.#value(place);
    } while (this.#takes(","));
    this.#expect("}", "after object key:value pair");
  }

  #array(path: string): void {
    if (this.#takes("]")) return;
    let index = 0;
    do this.#value(`${path}[${index++}]`);
    while (this.#takes(","));
    this.#expect("]", "after array element");
  }

  #string(): string {
    const start = this.#at;
    this.#at = endOfString(this.text, start) + 1;
    return this.text.slice(start, this.#at);
  }

  #skipSpace(): void {
    while (" \t\r\n".includes(this.text[this.#at] ?? "x")) this.#at++;
  }

  /** Skips the punctuation mark if it comes next. */
  #takes(mark: string): boolean {
    this.#skipSpace();
    if (this.text[this.#at] !== mark) return false;
    this.#at++;
    return true;
  }

  #expect(mark: string, context: string): void {
    if (!this.#takes(mark)) this.#fail(context);
  }

  #fail(context: string): never {
    if (this.#at >= this.text.length) throw new JsonSyntaxError("unexpected end of JSON input");
    // Go reads bytes: for a non-ASCII character it shows the first byte, as if it were Latin-1.
    const byte = Buffer.from(this.text.slice(this.#at, this.#at + 2))
      .toString("latin1")
      .slice(0, 1);
    const shown = byte === '"' ? byte : goQuote(byte).slice(1, -1);
    throw new JsonSyntaxError(`invalid character '${shown}' ${context}`);
  }
}
