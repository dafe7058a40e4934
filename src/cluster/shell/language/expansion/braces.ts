import type { Self } from "../../process/process.js";
import type { ShellState } from "../state.js";
import type { BraceItem, BracePart, BraceRange, WordPart } from "../syntax/ast.js";

/** The parts of a shell that braces need. */
interface BraceHost {
  readonly state: Pick<ShellState, "isBash">;
  readonly self: Pick<Self, "memory" | "turn">;
}

/** The memory of one field in addition to its text, in bytes. */
export const BYTES_PER_FIELD = 200;
export const FIELDS_PER_CHECK = 1024;

/** `a{b,c}` becomes `ab ac`, before all other expansions. @throws OutOfMemoryError */
export async function expandBraces(parts: readonly WordPart[], host: BraceHost): Promise<(readonly WordPart[])[]> {
  if (!parts.some((part) => part.type === "BraceExpansion")) return [parts];
  if (!host.state.isBash)
    return [parts.flatMap((part) => (part.type === "BraceExpansion" ? literalBraces(part) : part))];
  let words: (readonly WordPart[])[] = [parts];
  for (let isDone = false; !isDone; ) {
    isDone = true;
    const next: (readonly WordPart[])[] = [];
    for (const word of words) {
      const at = word.findIndex((part) => part.type === "BraceExpansion");
      const brace = word[at];
      if (brace?.type !== "BraceExpansion") next.push(word);
      else {
        isDone = false;
        for (const item of brace.items) {
          for (const middle of braceParts(item)) {
            next.push([...word.slice(0, at), ...middle, ...word.slice(at + 1)]);
            if (next.length % FIELDS_PER_CHECK !== 0) continue;
            host.self.memory.require(next.length * BYTES_PER_FIELD * (word.length + 1));
            await host.self.turn(FIELDS_PER_CHECK / 16);
          }
        }
      }
    }
    words = next;
  }
  return words;
}

function* braceParts(item: BraceItem): Generator<readonly WordPart[]> {
  if (item.type === "Word") yield item.word.parts;
  else for (const value of braceRange(item)) yield [{ type: "Literal", value }];
}

/** `{1..10..2}`, `{01..10}` and `{a..z}` */
function* braceRange(item: BraceRange): Generator<string> {
  const texts = [item.startStr ?? "", item.endStr ?? ""];
  const width = texts.some((text) => /^-?0\d/.test(text)) ? Math.max(...texts.map(({ length }) => length)) : 0;
  const isText = typeof item.start === "string";
  const code = (value: string | number) => (typeof value === "string" ? value.charCodeAt(0) : value);
  const [start, end] = [code(item.start), code(item.end)];
  const step = Math.max(1, Math.abs(item.step ?? 1));
  for (let value = start; start <= end ? value <= end : value >= end; value += start <= end ? step : -step) {
    if (isText) yield String.fromCharCode(value);
    else if (value < 0) yield `-${String(-value).padStart(width - 1, "0")}`;
    else yield String(value).padStart(width, "0");
  }
}

/** Leaves braces unchanged where a word does not become several (an assignment), and always in ash. */
export function literalBraces({ items }: BracePart): WordPart[] {
  const literal = (value: string): WordPart => ({ type: "Literal", value });
  const [first] = items;
  if (first?.type === "Range") return [literal(`{${rangeText(first)}}`)];
  const parts = items.flatMap((item, index) => [
    literal(index === 0 ? "{" : ","),
    ...(item.type === "Word" ? item.word.parts : [literal(rangeText(item))]),
  ]);
  return [...parts, literal("}")];
}

function rangeText({ start, end, startStr, endStr, step }: BraceRange): string {
  return `${startStr ?? start}..${endStr ?? end}${step === undefined ? "" : `..${step}`}`;
}
