import type { ChalkInstance } from "chalk";
import { wrap } from "../../../util/text/text-width.js";

/** A block between empty lines. */
type Block =
  | { readonly kind: "paragraph" | "heading" | "code"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly { readonly mark: string; readonly text: string }[] };

/**
 * A lab's Markdown as lines for a terminal: paragraphs, lists, `code`, *emphasis*, **strong**, fenced blocks. Wide characters count as two
 * columns.
 */
export function renderMarkdown(markdown: string, chalk: ChalkInstance, width: number): string[] {
  const lines: string[] = [];
  for (const block of blocksOf(markdown)) {
    if (lines.length > 0) lines.push("");
    switch (block.kind) {
      case "heading":
        lines.push(...wrap(chalk.bold(block.text), width));
        break;
      case "code":
        lines.push(...block.text.split("\n").map((line) => `    ${chalk.cyan(line)}`));
        break;
      case "list":
        for (const { mark, text } of block.items) {
          const [first = "", ...rest] = wrap(inline(text, chalk), width - mark.length - 3);
          lines.push(`  ${mark} ${first}`, ...rest.map((line) => `${" ".repeat(mark.length + 3)}${line}`));
        }
        break;
      default:
        lines.push(...wrap(inline(block.text, chalk), width));
    }
  }
  return lines;
}

/** A star between spaces, as in a * b, is a multiplication sign. */
const EMPHASIS = /(?<![\w*])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])/g;
/** Replaces `code` while emphasis is rendered, because stars in code are literal. */
const CODE = "\u0000";

const CODE_SPAN = /`[^`]+`/g;

/**
 * Colours each `code` of a text that is otherwise not Markdown. The backticks are removed, also without colour, because they are not typed.
 */
export function renderCode(text: string, chalk: ChalkInstance): string {
  return text.replace(CODE_SPAN, (code) => chalk.cyan(code.slice(1, -1)));
}

/** A text for prompts and waits, which have no Markdown. */
export const withoutCode = (text: string): string => text.replaceAll("`", "");

function inline(text: string, chalk: ChalkInstance): string {
  const codes: string[] = [];
  const keep = (code: string) => {
    codes.push(renderCode(code, chalk));
    return CODE;
  };
  return text
    .replace(CODE_SPAN, keep)
    .replace(/\*\*([^*]+)\*\*/g, (_, strong: string) => chalk.bold(strong))
    .replace(EMPHASIS, (_, word: string) => chalk.underline(word))
    .replaceAll(CODE, () => codes.shift() ?? "");
}

function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  const fences = markdown.split(/^```.*$/m);
  fences.forEach((part, i) => {
    if (i % 2 === 1) blocks.push({ kind: "code", text: part.replace(/^\n|\n$/g, "") });
    else for (const chunk of part.split(/\n{2,}/)) if (chunk.trim() !== "") blocks.push(blockOf(chunk.trim()));
  });
  return blocks;
}

const ITEM = /^(?:([-*])|(\d+\.))\s+/;

function blockOf(chunk: string): Block {
  const heading = /^#+\s+(.+)$/.exec(chunk);
  if (heading !== null) return { kind: "heading", text: heading[1] ?? "" };
  if (!ITEM.test(chunk)) return { kind: "paragraph", text: joinLines(chunk.split("\n")) };
  const items: { mark: string; text: string }[] = [];
  for (const line of chunk.split("\n")) {
    const match = ITEM.exec(line);
    const last = items.at(-1);
    if (match !== null) items.push({ mark: match[2] ?? "-", text: line.slice(match[0].length) });
    else if (last !== undefined) last.text = joinLines([last.text, line.trim()]);
  }
  return { kind: "list", items };
}

/** Chinese characters, punctuation and quotation marks, possibly with the stars of **strong** around them. */
const ENDS_WIDE = /[\u2018-\u201d\u2014\u2026\u3000-\u9fff\uff00-\uffef][,;:?!)]?\**$/;
const BEGINS_WIDE = /^\**[\u2018-\u201d\u2014\u2026\u3000-\u9fff\uff00-\uffef]/;

/** Chinese punctuation: a part of each sign is space already. */
const ENDS_SPACED = /[\u3001-\u3011\uff01\uff08-\uff0c\uff1a\uff1b\uff1f]\**$/;
const BEGINS_SPACED = /^\**[\u3001-\u3011\uff01\uff08-\uff0c\uff1a\uff1b\uff1f]/;

/** Replaces a line break by a space, except between two Chinese characters and at Chinese punctuation. */
function joinLines(lines: readonly string[]): string {
  return lines.reduce((text, line) => {
    const next = line.trim();
    const isSpaced = ENDS_SPACED.test(text) || BEGINS_SPACED.test(next);
    return isSpaced || (ENDS_WIDE.test(text) && BEGINS_WIDE.test(next)) ? text + next : `${text} ${next}`;
  });
}
