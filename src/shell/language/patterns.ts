import type { ContainerFs } from "../fs/container-fs.js";
import { resolvePath } from "../fs/paths.js";

/** A part of a word after expansion. A quoted `*` is not a wildcard. */
export interface Piece {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** The text of a word's parts, quoted or not. */
export function textOf(pieces: readonly Piece[]): string {
  return pieces.map((piece) => piece.text).join("");
}

/** Whether the word has wildcards: unquoted `*`, `?` or `[`. */
export function hasPattern(pieces: readonly Piece[]): boolean {
  return pieces.some((piece) => !piece.isQuoted && /[*?[]/.test(piece.text));
}

/** A shell pattern as the source of a regular expression, without anchors. */
export function patternSource(pieces: readonly Piece[], any = "[^]*", one = "[^]"): string {
  return pieces.map((piece) => (piece.isQuoted ? escapeRegExp(piece.text) : translate(piece.text, any, one))).join("");
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}

function translate(text: string, any: string, one: string): string {
  let out = "";
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === "*") out += any;
    else if (char === "?") out += one;
    else if (char === "\\" && at + 1 < text.length) out += escapeRegExp(text.charAt(++at));
    else if (char === "[") {
      const set = bracket(text, at);
      if (set === undefined) out += "\\[";
      else {
        out += set.source;
        at = set.end;
      }
    } else out += escapeRegExp(char);
  }
  return out;
}

const CLASSES: Readonly<Record<string, string>> = {
  alpha: "A-Za-z",
  digit: "0-9",
  alnum: "A-Za-z0-9",
  upper: "A-Z",
  lower: "a-z",
  space: "\\s",
  blank: " \\t",
  punct: "!-\\/:-@\\[-`{-~",
  xdigit: "0-9A-Fa-f",
};

function bracket(text: string, start: number): { readonly source: string; readonly end: number } | undefined {
  const negated = text[start + 1] === "!" || text[start + 1] === "^";
  let at = start + (negated ? 2 : 1);
  let set = "";
  for (const first = at; at < text.length; at++) {
    if (text[at] === "]" && at > first) return { source: `[${negated ? "^" : ""}${set}]`, end: at };
    const named = /^\[:(\w+):\]/.exec(text.slice(at));
    if (named !== null) {
      set += CLASSES[named[1] ?? ""] ?? "";
      at += named[0].length - 1;
    } else set += text[at] === "-" ? "-" : escapeRegExp(text.charAt(at));
  }
  return undefined;
}

/** Whether a whole text matches a pattern: `case`, `[[ x == y* ]]`. */
export function matches(text: string, pattern: readonly Piece[]): boolean {
  return new RegExp(`^(?:${patternSource(pattern)})$`, "u").test(text);
}

/** The paths that match a pattern, sorted. */
export function expandPath(fs: ContainerFs, cwd: string, pieces: readonly Piece[]): string[] {
  const segments = splitAtSlashes(pieces);
  const isAbsolute = textOf(segments[0] ?? []) === "" && segments.length > 1;
  let found = [isAbsolute ? "/" : ""];
  const rest = isAbsolute ? segments.slice(1) : segments;
  for (const segment of rest) {
    found = found.flatMap((before) => below(fs, cwd, before, segment));
    if (found.length === 0) return [];
  }
  return found.sort();
}

function below(fs: ContainerFs, cwd: string, before: string, segment: readonly Piece[]): string[] {
  const join = (name: string) => (before === "" || before.endsWith("/") ? before + name : `${before}/${name}`);
  if (!hasPattern(segment)) {
    const path = join(textOf(segment));
    return fs.exists(resolvePath(cwd, path)) ? [path] : [];
  }
  const folder = resolvePath(cwd, before === "" ? "." : before);
  let names: string[];
  try {
    names = fs.readdir(folder);
  } catch {
    return []; // not a folder: no match
  }
  const pattern = new RegExp(`^(?:${patternSource(segment, "[^/]*", "[^/]")})$`, "u");
  const showsHidden = textOf(segment).startsWith(".");
  return names.filter((name) => (showsHidden || !name.startsWith(".")) && pattern.test(name)).map(join);
}

function splitAtSlashes(pieces: readonly Piece[]): Piece[][] {
  const segments: Piece[][] = [[]];
  for (const piece of pieces) {
    piece.text.split("/").forEach((text, index) => {
      if (index > 0) segments.push([]);
      if (text !== "") segments.at(-1)?.push({ text, isQuoted: piece.isQuoted });
    });
  }
  return segments;
}
