import { defined } from "../../../util/defined.js";

/** One part of an expression. `slice`: from, to, step, as written; one index has `to` one further. */
export type JsonPathNode =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "field"; readonly name: string }
  | { readonly type: "value"; readonly value: number | boolean }
  | { readonly type: "identifier"; readonly name: string }
  | { readonly type: "slice"; readonly from?: number; readonly to?: number; readonly step?: number }
  | { readonly type: "union"; readonly lists: readonly JsonPathList[] }
  | { readonly type: "filter"; readonly left: JsonPathList; readonly operator: string; readonly right: JsonPathList }
  | { readonly type: "wildcard" | "recursive" };

/** The parts between one pair of braces: each is evaluated on the results of the one before. */
export type JsonPathList = readonly JsonPathNode[];

/** A template that is not JSONPath, with upstream's reason. */
export class JsonPathError extends Error {
  override readonly name = "JsonPathError";
}

const TERMINATOR = /[\s.,[\]$@{}]/;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", a: "\x07", b: "\b", f: "\f", v: "\v" };

/**
 * Parses a template into texts and the expressions in braces.
 *
 * Mirrors k8s.io/client-go/util/jsonpath/parser.go (Parse, parseInsideAction).
 * @throws JsonPathError
 */
export function parseJsonPath(template: string): readonly JsonPathList[] {
  const lists: JsonPathList[] = [];
  let at = 0;
  while (at < template.length) {
    const brace = template.indexOf("{", at);
    if (brace !== at) lists.push([{ type: "text", text: template.slice(at, brace < 0 ? undefined : brace) }]);
    if (brace < 0) break;
    const action = new Action(template, brace + 1);
    lists.push(action.parse());
    at = action.at;
  }
  return lists;
}

/** One expression, up to its closing brace. */
class Action {
  readonly #nodes: JsonPathNode[] = [];

  constructor(
    readonly text: string,
    public at: number,
  ) {}

  parse(): JsonPathList {
    for (;;) {
      const next = this.text[this.at];
      if (next === undefined || next === "\n" || next === "\r") throw new JsonPathError("unclosed action");
      if (next === "}") {
        this.at++;
        return this.#nodes;
      }
      this.#parsePart(next);
    }
  }

  #parsePart(next: string): void {
    if (this.text.startsWith("[?(", this.at)) this.#parseFilter();
    else if (this.text.startsWith("..", this.at)) this.#parseRecursive();
    else if (next === " " || next === "@" || next === "$") this.at++;
    else if (next === "[") this.#parseArray();
    else if (next === '"' || next === "'") this.#parseQuote(next);
    else if (next === ".") this.#parseField(this.at + 1);
    else if (/[-+\d]/.test(next)) this.#parseNumber();
    else if (/[\p{L}_]/u.test(next)) this.#parseIdentifier();
    else throw new JsonPathError(`unrecognized character in action: ${unicode(next)}`);
  }

  #parseIdentifier(): void {
    const name = this.#until(TERMINATOR);
    const isBoolean = name === "true" || name === "false";
    this.#nodes.push(isBoolean ? { type: "value", value: name === "true" } : { type: "identifier", name });
  }

  #parseRecursive(): void {
    if (this.#nodes.at(-1)?.type === "recursive") throw new JsonPathError("invalid multiple recursive descent");
    this.at += 2;
    this.#nodes.push({ type: "recursive" });
    if (/[\p{L}\d_]/u.test(this.text[this.at] ?? "")) this.#parseField(this.at);
  }

  #parseNumber(): void {
    const digits = /[-+]?[\d.]*/y;
    digits.lastIndex = this.at;
    const [number = ""] = digits.exec(this.text) ?? [];
    this.at += number.length;
    if (!/\d/.test(number) || Number.isNaN(Number(number))) throw new JsonPathError(`cannot parse number ${number}`);
    this.#nodes.push({ type: "value", value: Number(number) });
  }

  #parseField(start: number): void {
    this.at = start;
    const name = this.#until(TERMINATOR);
    this.#nodes.push(name === "*" ? { type: "wildcard" } : { type: "field", name: name.replaceAll("\\", "") });
  }

  /** Up to a character that ends a name; a backslash keeps the one after it. */
  #until(end: RegExp): string {
    const start = this.at;
    while (this.at < this.text.length && !end.test(this.text[this.at] ?? ""))
      this.at += this.text[this.at] === "\\" ? 2 : 1;
    return this.text.slice(start, this.at);
  }

  #parseQuote(quote: string): void {
    const start = ++this.at;
    while (this.text[this.at] !== quote || this.text[this.at - 1] === "\\") {
      if (this.at >= this.text.length || this.text[this.at] === "\n")
        throw new JsonPathError("unterminated quoted string");
      this.at++;
    }
    const inside = this.text.slice(start, this.at++);
    const text = inside.replaceAll(/\\(.)/gs, (_, character: string) => ESCAPES[character] ?? character);
    this.#nodes.push({ type: "text", text });
  }

  #parseArray(): void {
    const end = this.text.indexOf("]", this.at);
    const inside = this.text.slice(this.at + 1, end);
    if (end < 0 || inside.includes("\n")) throw new JsonPathError("unterminated array");
    this.at = end + 1;
    const parts = inside.split(",");
    if (parts.length > 1) {
      this.#nodes.push({ type: "union", lists: parts.map((part) => actionOf(`[${part.trim()}]`)) });
      return;
    }
    const key = /^'([^']*)'$/.exec(inside)?.[1];
    if (key === undefined) this.#nodes.push(sliceOf(inside === "*" ? ":" : inside));
    else this.#nodes.push(...actionOf(`.${key}`));
  }

  #parseFilter(): void {
    this.at += "[?(".length;
    const start = this.at;
    let quote: string | undefined;
    for (; quote !== undefined || this.text[this.at] !== ")"; this.at++) {
      const next = this.text[this.at];
      if (next === undefined || next === "\n") throw new JsonPathError("unterminated filter");
      if (quote === undefined && (next === '"' || next === "'")) quote = next;
      else if (next === quote && this.text[this.at - 1] !== "\\") quote = undefined;
    }
    const inside = this.text.slice(start, this.at);
    if (this.text[this.at + 1] !== "]") throw new JsonPathError("unclosed array expect ]");
    this.at += 2;
    const [, left, operator = "exists", right] = /^([^!<>=]+)([!<>=]+)(.+?)$/s.exec(inside) ?? [];
    this.#nodes.push({
      type: "filter",
      left: actionOf(left ?? inside),
      operator,
      right: right === undefined ? [] : actionOf(right),
    });
  }
}

const actionOf = (text: string): JsonPathList => new Action(`${text}}`, 0).parse();

/** `1`, `-1`, `0:2`, `::2`. */
function sliceOf(text: string): JsonPathNode {
  const match = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text);
  if (match === null) throw new JsonPathError(`invalid array index ${text}`);
  const [from, to, step] = match.slice(1).map((part) => {
    const digits = part?.replace(":", "") ?? "";
    return digits === "" ? undefined : Number(digits);
  });
  const isIndex = match[2] === undefined;
  // No index follows the last element.
  const end = isIndex && from !== -1 ? (from ?? 0) + 1 : to;
  return { type: "slice", ...defined({ from, to: end, step }) };
}

/** `U+0025 '%'` */
function unicode(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `U+${code} '${character}'`;
}
