/** A block of Markdown between empty lines. */
export type MarkdownBlock =
  | { readonly kind: "paragraph" | "heading" | "code"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly { readonly mark: string; readonly text: string }[] };

/** A part of a paragraph. */
export interface MarkdownSpan {
  readonly text: string;
  readonly isCode: boolean;
  readonly mark: "strong" | "emphasis" | undefined;
}

/** The blocks of a Markdown text: headings, paragraphs, lists of one level and fenced code. Pure. */
export function markdownBlocks(markdown: string): readonly MarkdownBlock[] {
  const blocks: MarkdownBlock[] = [];
  const fences = markdown.split(/^```.*$/m);
  fences.forEach((part, i) => {
    if (i % 2 === 1) blocks.push({ kind: "code", text: part.replace(/^\n|\n$/g, "") });
    else for (const chunk of part.split(/\n{2,}/)) if (chunk.trim() !== "") blocks.push(blockOf(chunk.trim()));
  });
  return blocks;
}

/** Code first, because stars in it are literal. A star between spaces, as in a * b, is a multiplication sign. */
const MARKED = /\*\*([^*]+)\*\*|(?<![\w*])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])/g;
export const CODE_SPAN = /`[^`]+`/g;
/** Replaces `code` while emphasis is found. */
const CODE = "\u0000";

/** The parts of a paragraph: text, `code`, *emphasis* and **strong**, without their marks. Pure. */
export function markdownSpans(text: string): readonly MarkdownSpan[] {
  const codes: string[] = [];
  const hidden = text.replace(CODE_SPAN, (code) => {
    codes.push(code.slice(1, -1));
    return CODE;
  });
  const spans: MarkdownSpan[] = [];
  const add = (part: string, mark?: MarkdownSpan["mark"]) => {
    for (const [i, piece] of part.split(CODE).entries()) {
      if (i > 0) spans.push({ text: codes.shift() ?? "", isCode: true, mark });
      if (piece !== "") spans.push({ text: piece, isCode: false, mark });
    }
  };
  let at = 0;
  for (const match of hidden.matchAll(MARKED)) {
    const [all, strong, emphasis = ""] = match;
    add(hidden.slice(at, match.index));
    add(strong ?? emphasis, strong === undefined ? "emphasis" : "strong");
    at = match.index + all.length;
  }
  add(hidden.slice(at));
  return spans;
}

const ITEM = /^(?:([-*])|(\d+\.))\s+/;

function blockOf(chunk: string): MarkdownBlock {
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
