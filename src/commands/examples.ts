import type { Command } from "commander";

/** Adds command lines to the end of a help: each as it is typed, at most 80 columns with its indentation. */
export function addExamples(command: Command, ...lines: readonly string[]): Command {
  return command.addHelpText("after", ["", "Examples:", ...lines.map((line) => `  ${line}`)].join("\n"));
}
