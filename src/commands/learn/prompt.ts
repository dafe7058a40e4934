import { LabError } from "../../util/errors.js";
import type { LearnEnvironment } from "./environment.js";

export type Choice =
  | { readonly heading: string }
  | { readonly value: string; readonly name: string; readonly description?: string };

/** Whether somebody can be asked. */
export function canAsk({ context }: LearnEnvironment): boolean {
  return context.streams.stdin.isTTY === true && context.streams.stderr.isTTY === true;
}

/**
 * Lets the learner choose with the arrow keys; on a terminal that cannot move the cursor (TERM=dumb, as with screen readers) by
 * typing a number.
 * @throws LabError USAGE without a terminal
 */
export async function choose(env: LearnEnvironment, message: string, choices: readonly Choice[]): Promise<string> {
  if (!canAsk(env)) {
    throw new LabError(
      "USAGE",
      "there is no terminal to ask on",
      "Use kubelab learn list, start, next, check, hint and solution, or --yes.",
    );
  }
  const { streams, signal, env: environment } = env.context;
  const { default: inquirer } = await import("inquirer");
  const prompt = inquirer.createPromptModule({
    input: streams.stdin as NodeJS.ReadStream,
    output: streams.stderr as NodeJS.WriteStream,
    signal,
  } as Parameters<typeof inquirer.createPromptModule>[0]);
  const items = choices.map((one) =>
    "heading" in one
      ? { type: "separator" as const, separator: one.heading }
      : {
          value: one.value,
          name: one.name,
          ...(one.description === undefined ? {} : { description: one.description }),
        },
  );
  const type = environment["TERM"] === "dumb" ? "rawlist" : "select";
  const { answer } = await prompt([{ type, name: "answer", message, choices: items, loop: false } as never]);
  return String(answer);
}
