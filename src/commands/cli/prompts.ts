import type { ProcessStreams } from "../../testbed/context.js";
import { wrap } from "../../trace/terminal/text.js";
import { LabError } from "../../util/errors.js";

import { columnsOf } from "./width.js";

/** The width of the text around a question: inquirer breaks a line longer than the terminal inside a word. */
const BESIDE_QUESTION = "? ".length + " (y/N) Yes".length;

/**
 * Asks yes or no on the terminal (the question goes to stderr). Enter means no.
 * @throws LabError USAGE without a terminal
 */
export async function askYesNo(
  question: string,
  flag: string,
  streams: ProcessStreams,
  signal: AbortSignal,
): Promise<boolean> {
  if (streams.stdin.isTTY !== true || streams.stderr.isTTY !== true) {
    throw new LabError("USAGE", `there is no terminal to ask a question: ${question}`, `Answer it with ${flag}.`);
  }
  const { default: inquirer } = await import("inquirer");
  const prompt = inquirer.createPromptModule({
    input: streams.stdin as NodeJS.ReadStream,
    output: streams.stderr as NodeJS.WriteStream,
    signal,
  } as Parameters<typeof inquirer.createPromptModule>[0]);
  const message = wrap(question, columnsOf(streams.stderr) - BESIDE_QUESTION).join("\n");
  const { answer } = await prompt([{ type: "confirm", name: "answer", message, default: false }]);
  return answer === true;
}
