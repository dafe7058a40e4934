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
  if (isPlain(env)) return (await askLine(env, `${message} (${usual}) `)) || usual;
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
  if (isPlain(env)) return chooseByNumber(env, message, choices);
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
  const theme = { style: { keysHelpTip: () => env.say("keysHelp") } };
  const { answer } = await prompt([
    { type: "select", name: "answer", message, choices: items, loop: false, theme, pageSize: pageSize(env) } as never,
  ]);
  return String(answer);
}

/** Rows that question, description and help leave for choices. */
function pageSize({ context }: LearnEnvironment): number {
  const { rows = 24 } = context.streams.stderr as { readonly rows?: number };
  return Math.max(5, rows - 6);
}

/** No cursor movement: as with screen readers, and where nothing is known of the terminal. */
export function isPlain({ context }: LearnEnvironment): boolean {
  return context.env["TERM"] === "dumb";
}

/** Lines only: choices with numbers, a question, an answer; again until it is one of them. */
async function chooseByNumber(env: LearnEnvironment, message: string, choices: readonly Choice[]): Promise<string> {
  const { stderr } = env.context.streams;
  const values: string[] = [];
  stderr.write(`${message}\n`);
  for (const one of choices) {
    if ("heading" in one) stderr.write(`${one.heading}\n`);
    else {
      values.push(one.value);
      stderr.write(`  ${values.length}) ${one.name}\n`);
    }
  }
  for (;;) {
    const answer = (await askLine(env, env.say("typeNumber", { count: values.length }))).trim();
    const value = /^\d+$/.test(answer) ? values[Number(answer) - 1] : undefined;
    if (value !== undefined) return value;
  }
}

/** @throws AbortError at the end of the input; the signal's reason */
async function askLine({ context }: LearnEnvironment, question: string): Promise<string> {
  const { streams, signal } = context;
  const { createInterface } = await import("node:readline");
  signal.throwIfAborted();
  const lines = createInterface({ input: streams.stdin, output: streams.stderr, terminal: false });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once("line", resolve);
      lines.once("close", () => reject(new DOMException("interrupted", "AbortError")));
      signal.addEventListener("abort", () => lines.close(), { once: true });
      streams.stderr.write(question);
    });
  } finally {
    lines.close();
    streams.stdin.pause();
  }
}
