import type { Command } from "commander";
import { continuedLine } from "./continued-line.js";
import { inHelp } from "./help-language.js";

const INDENT = "  ";
/** A flag, a pipe, a file to write, a comment or a quoted word, with the plain words after it: `--name n1`, `| jq .`. */
const PART = /(?:"[^"]*"|'[^']*'|[^\s"'])+(?: (?![-|>#"'])(?:"[^"]*"|'[^']*'|[^\s"'])+)*/g;

/**
 * Adds command lines to the end of a help. Each has at most 80 columns including its indentation. In a narrower terminal,
 * lines break before a flag or a pipe, and a shell continues them.
 */
export function addExamples(command: Command, ...lines: readonly string[]): Command {
  return command.addHelpText("after", () =>
    ["", inHelp(command, "Examples:"), ...exampleLines(command, lines)].join("\n"),
  );
}

/** The lines below a help's heading. */
export function exampleLines(command: Command, lines: readonly string[]): readonly string[] {
  const { helpWidth = 80 } = command.configureHelp();
  return lines.flatMap((line) => continued(line, helpWidth - INDENT.length)).map((line) => INDENT + line);
}

/** Lines of at most `width` columns, where flags, pipes and quoted words allow it. */
function continued(line: string, width: number): readonly string[] {
  return line.length <= width ? [line] : continuedLine(line.match(PART) ?? [], INDENT, width);
}
