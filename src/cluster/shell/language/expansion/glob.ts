/** A part of a word after expansion. A quoted `*` is not a wildcard. */
export interface Piece {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** Matches one character: a given one, any, or one of a set. */
type Token = string | null | RegExp;

/** A shell pattern: the parts between its `*`. Each part matches as many characters as it has tokens. */
export interface Glob {
  readonly parts: readonly Part[];
}

interface Part {
  readonly tokens: readonly Token[];
  /** the text of a part without `?` and sets */
  readonly literal: string | undefined;
}

/** Compiles a pattern. A quoted wildcard is literal. */
export function compileGlob(pieces: readonly Piece[]): Glob {
  const parts: Token[][] = [[]];
  let last = parts[0] as Token[];
  for (const { text, isQuoted } of pieces) {
    for (let at = 0; at < text.length; at++) {
      const char = text.charAt(at);
      const set = !isQuoted && char === "[" ? bracket(text, at) : undefined;
      if (isQuoted) last.push(char);
      else if (char === "?") last.push(null);
      else if (char === "\\" && at + 1 < text.length) last.push(text.charAt(++at));
      else if (set !== undefined) {
        last.push(set.matcher);
        at = set.end;
      } else if (char !== "*") last.push(char);
      else if (last.length > 0 || parts.length === 1) {
        // `**` is `*`: an empty part between two of them matches anywhere.
        last = [];
        parts.push(last);
      }
    }
  }
  const asPart = (tokens: readonly Token[]): Part => ({
    tokens,
    literal: tokens.every((token) => typeof token === "string") ? tokens.join("") : undefined,
  });
  return { parts: parts.map(asPart) };
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
const NOTHING = /(?!)/;

function bracket(text: string, start: number): { readonly matcher: RegExp; readonly end: number } | undefined {
  const negated = text[start + 1] === "!" || text[start + 1] === "^";
  let at = start + (negated ? 2 : 1);
  let set = "";
  for (const first = at; at < text.length; at++) {
    if (text[at] === "]" && at > first) return { matcher: setMatcher(set, negated), end: at };
    const named = /^\[:(\w{1,9}):\]/.exec(text.slice(at, at + 14));
    if (named !== null) {
      set += CLASSES[named[1] ?? ""] ?? "";
      at += named[0].length - 1;
    } else set += text[at] === "-" ? "-" : text.charAt(at).replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  }
  return undefined;
}

function setMatcher(set: string, negated: boolean): RegExp {
  try {
    return new RegExp(`^[${negated ? "^" : ""}${set}]$`, "su");
  } catch {
    return NOTHING; // a range such as `z-a`
  }
}

const isLow = (code: number) => code >= 0xdc00 && code <= 0xdfff;
const isHigh = (code: number) => code >= 0xd800 && code <= 0xdbff;

/** The length of the character at `at`, in UTF-16 units. */
function widthAt(text: string, at: number): number {
  return isHigh(text.charCodeAt(at)) && isLow(text.charCodeAt(at + 1)) ? 2 : 1;
}

/** @returns the end of the part that begins at `start`; -1 if it does not match there */
function matchAt({ tokens }: Part, text: string, start: number): number {
  let at = start;
  for (const token of tokens) {
    if (at >= text.length) return -1;
    if (typeof token === "string") {
      if (text[at] !== token) return -1;
      at++;
      continue;
    }
    const width = widthAt(text, at);
    if (token !== null && !token.test(text.slice(at, at + width))) return -1;
    at += width;
  }
  return at;
}

/** @returns the start of the part that ends at `end`; -1 if it does not match there */
function matchBefore({ tokens }: Part, text: string, end: number): number {
  let at = end;
  for (let index = tokens.length - 1; index >= 0; index--) {
    if (at <= 0) return -1;
    const token = tokens[index] as Token;
    if (typeof token === "string") {
      at--;
      if (text[at] !== token) return -1;
      continue;
    }
    const width = at > 1 && isLow(text.charCodeAt(at - 1)) && isHigh(text.charCodeAt(at - 2)) ? 2 : 1;
    if (token !== null && !token.test(text.slice(at - width, at))) return -1;
    at -= width;
  }
  return at;
}

/** A part of a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Yields the number of comparisons since the last yield, so that the caller can yield to others. */
export type Search<T> = Generator<number, T>;

const COMPARISONS_PER_YIELD = 65_536;
/** the native search is not interrupted */
const MAX_NATIVE_COMPARISONS = 16_000_000;

/** The first occurrence of a part from `from` on. */
function* first(part: Part, text: string, from: number): Search<Span | undefined> {
  const { literal, tokens } = part;
  if (tokens.length === 0) return { start: from, end: from };
  if (literal !== undefined && literal.length * (text.length - from) <= MAX_NATIVE_COMPARISONS) {
    const start = text.indexOf(literal, from);
    return start < 0 ? undefined : { start, end: start + literal.length };
  }
  let count = 0;
  for (let start = from; start + tokens.length <= text.length; start++) {
    count += tokens.length;
    if (count > COMPARISONS_PER_YIELD) {
      yield count;
      count = 0;
    }
    if (isLow(text.charCodeAt(start)) && start > 0 && isHigh(text.charCodeAt(start - 1))) continue;
    const end = matchAt(part, text, start);
    if (end >= 0) return { start, end };
  }
  return undefined;
}

/** The last occurrence of a part that begins at `from` or later and ends at `to` or before. */
function* last(part: Part, text: string, from: number, to: number): Search<Span | undefined> {
  const { literal, tokens } = part;
  if (tokens.length === 0) return from <= to ? { start: to, end: to } : undefined;
  if (literal !== undefined && literal.length * to <= MAX_NATIVE_COMPARISONS) {
    const start = to < literal.length ? -1 : text.lastIndexOf(literal, to - literal.length);
    return start < from ? undefined : { start, end: start + literal.length };
  }
  let count = 0;
  for (let end = to; end - tokens.length >= from; end--) {
    count += tokens.length;
    if (count > COMPARISONS_PER_YIELD) {
      yield count;
      count = 0;
    }
    const start = matchBefore(part, text, end);
    if (start >= from) return { start, end };
  }
  return undefined;
}

/** Whether the pattern matches the whole text. */
export function* matchesAll(glob: Glob, text: string): Search<boolean> {
  const { parts } = glob;
  let at = matchAt(parts[0] as Part, text, 0);
  if (parts.length === 1) return at === text.length;
  const end = matchBefore(parts.at(-1) as Part, text, text.length);
  if (at < 0 || end < 0) return false;
  for (const part of parts.slice(1, -1)) {
    const found = yield* first(part, text, at);
    if (found === undefined) return false;
    at = found.end;
  }
  return at <= end;
}

/** @returns the length of the shortest or longest prefix that matches; undefined without one */
export function* prefix(glob: Glob, text: string, isLongest: boolean): Search<number | undefined> {
  const { parts } = glob;
  let at = matchAt(parts[0] as Part, text, 0);
  if (at < 0) return undefined;
  for (const [index, part] of parts.entries()) {
    if (index === 0) continue;
    const isLast = index === parts.length - 1;
    const found = isLast && isLongest ? yield* last(part, text, at, text.length) : yield* first(part, text, at);
    if (found === undefined) return undefined;
    at = found.end;
  }
  return at;
}

/** @returns where the shortest or longest suffix that matches begins; undefined without one */
export function* suffix(glob: Glob, text: string, isLongest: boolean): Search<number | undefined> {
  const { parts } = glob;
  let at = matchBefore(parts.at(-1) as Part, text, text.length);
  if (at < 0) return undefined;
  for (let index = parts.length - 2; index >= 0; index--) {
    const part = parts[index] as Part;
    const found = index === 0 && isLongest ? yield* first(part, text, 0) : yield* last(part, text, 0, at);
    if (found === undefined || found.end > at) return undefined;
    at = found.start;
  }
  return at;
}

/** The first match at `from` or later, as long as possible. */
export function* find(glob: Glob, text: string, from: number): Search<Span | undefined> {
  const { parts } = glob;
  if (parts.length === 1) return yield* first(parts[0] as Part, text, from);
  // Matches from the right, each part as late as possible, so that the rest on the left remains for the first part.
  let limit = text.length;
  let end: number | undefined;
  for (const part of parts.slice(1).reverse()) {
    const found: Span | undefined = yield* last(part, text, from, limit);
    if (found === undefined) return undefined;
    end ??= found.end;
    limit = found.start;
  }
  const start = yield* first(parts[0] as Part, text, from);
  return start === undefined || start.end > limit ? undefined : { start: start.start, end: end ?? start.end };
}
