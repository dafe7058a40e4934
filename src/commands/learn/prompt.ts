import { LabError } from "../../util/errors.js";
import type { LearnEnvironment } from "./environment.js";

export type Choice =
  | { readonly heading: string }
  | { readonly value: string; readonly name: string; readonly description?: string };

/** Whether somebody can be asked. */
export function canAsk({ context }: LearnEnvironment): boolean {
  return context.streams.stdin.isTTY === true && context.streams.stderr.isTTY === true;
}

async function openPrompt({ context }: LearnEnvironment) {
  const { streams, signal } = context;
  const { default: inquirer } = await import("inquirer");
  return inquirer.createPromptModule({
    input: streams.stdin as NodeJS.ReadStream,
    output: streams.stderr as NodeJS.WriteStream,
    signal,
  } as Parameters<typeof inquirer.createPromptModule>[0]);
}

/** Asks for a line; Enter alone means `usual`. */
export async function askText(env: LearnEnvironment, message: string, usual: string): Promise<string> {
  const prompt = await openPrompt(env);
  const { answer } = await prompt([{ type: "input", name: "answer", message, default: usual } as never]);
  return String(answer);
}

/**
 * Lets the learner choose with the arrow keys; on a terminal that cannot move the cursor (TERM=dumb, as with screen readers) by
 * typing a number.
 * @throws LabError USAGE without a terminal
 */
export async function choose(env: LearnEnvironment, message: string, choices: readonly Choice[]): Promise<string> {
  if (!canAsk(env)) {
    throw new LabError("USAGE", env.say("noTerminal"), env.say("noTerminalHint"));
  }
  const prompt = await openPrompt(env);
  const items = choices.map((one) =>
    "heading" in one
      ? { type: "separator" as const, separator: one.heading }
      : {
          value: one.value,
          name: one.name,
          ...(one.description === undefined ? {} : { description: one.description }),
        },
  );
  const type = env.context.env["TERM"] === "dumb" ? "rawlist" : "select";
  const { answer } = await prompt([{ type, name: "answer", message, choices: items, loop: false } as never]);
  return String(answer);
}
