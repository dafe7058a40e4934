import type { Self } from "../../process/process.js";
import { compileGlob, find, type Piece, prefix, suffix } from "./glob.js";
import { run, textOf } from "./patterns.js";

const SURROGATES = /[\ud800-\udfff]/;
const CHARACTER_PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;

/** The number of characters, not of UTF-16 units. */
export function countCharacters(text: string): number {
  if (!SURROGATES.test(text)) return text.length;
  let pairs = 0;
  for (const _ of text.matchAll(CHARACTER_PAIRS)) pairs++;
  return text.length - pairs;
}

/** `${name:offset:length}` */
export function substring(text: string, offset: number, length: number | undefined): string {
  const count = countCharacters(text);
  const start = offset < 0 ? Math.max(0, count + offset) : offset;
  const end = length === undefined ? count : length < 0 ? count + length : start + length;
  if (count === text.length) return start < end ? text.slice(start, end) : "";
  return Array.from(text).slice(start, end).join("");
}

/** `${name#pattern}`, `${name%%pattern}` */
export async function removePattern(
  value: string,
  pattern: readonly Piece[],
  { side, greedy }: { readonly side: "prefix" | "suffix"; readonly greedy: boolean },
  self: Pick<Self, "memory" | "turn">,
): Promise<string> {
  const glob = compileGlob(pattern);
  const at = await run(side === "prefix" ? prefix(glob, value, greedy) : suffix(glob, value, greedy), self.turn);
  if (at === undefined) return value;
  return side === "prefix" ? value.slice(at) : value.slice(0, at);
}

const PIECES_PER_TURN = 1024;

/** `${name/pattern/text}` @throws OutOfMemoryError */
export async function replacePattern(
  value: string,
  pattern: readonly Piece[],
  text: string,
  { all, anchor }: { readonly all: boolean; readonly anchor: "start" | "end" | null },
  self: Pick<Self, "memory" | "turn">,
): Promise<string> {
  if (textOf(pattern) === "") return value;
  const glob = compileGlob(pattern);
  if (anchor !== null) {
    const search = anchor === "start" ? prefix(glob, value, true) : suffix(glob, value, true);
    const at = await run(search, self.turn);
    if (at === undefined) return value;
    return anchor === "start" ? text + value.slice(at) : value.slice(0, at) + text;
  }
  let out = "";
  let pieces: string[] = [];
  let length = value.length;
  let from = 0;
  while (from < value.length) {
    const found = await run(find(glob, value, from), self.turn);
    if (found === undefined) break;
    length += text.length - (found.end - found.start);
    self.memory.requireText(length);
    pieces.push(value.slice(from, found.start), text);
    from = found.end;
    if (!all) break;
    if (pieces.length < PIECES_PER_TURN) continue;
    out += pieces.join("");
    pieces = [];
    await self.turn(PIECES_PER_TURN / 32);
  }
  return out + pieces.join("") + value.slice(from);
}
