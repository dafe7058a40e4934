import type { ChalkInstance } from "chalk";
import { CODE_SPAN, markdownBlocks, markdownSpans } from "../../../util/text/markdown.js";
import { wrap } from "../../../util/text/text-width.js";

/**
 * A lab's Markdown as lines for a terminal: paragraphs, lists, `code`, *emphasis*, **strong**, fenced blocks. Wide characters count as two
 * columns.
 */
export function renderMarkdown(markdown: string, chalk: ChalkInstance, width: number): string[] {
  const lines: string[] = [];
  for (const block of markdownBlocks(markdown)) {
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

/**
 * Colours each `code` of a text that is otherwise not Markdown. The backticks are removed, also without colour, because they are not typed.
 */
export function renderCode(text: string, chalk: ChalkInstance): string {
  return text.replace(CODE_SPAN, (code) => chalk.cyan(code.slice(1, -1)));
}

/** A text for prompts and waits, which have no Markdown. */
export const withoutCode = (text: string): string => text.replaceAll("`", "");

function inline(text: string, chalk: ChalkInstance): string {
  const styles = { strong: chalk.bold, emphasis: chalk.underline };
  const shown = markdownSpans(text).map(({ text: words, isCode, mark }) => {
    const coloured = isCode ? chalk.cyan(words) : words;
    return mark === undefined ? coloured : styles[mark](coloured);
  });
  return shown.join("");
}
