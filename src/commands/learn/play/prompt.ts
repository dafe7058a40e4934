import { LocalizedError } from "../../../util/i18n/message-error.js";
import { textWidth, wrap } from "../../../util/text/text-width.js";
import type { LearnContext } from "../context.js";

export type Choice =
  | { readonly heading: string }
  | { readonly value: string; readonly name: string; readonly description?: string };

/** A key that chooses without the arrow keys. */
export interface ChoiceKey {
  /** a letter with which no other choice begins */
  readonly key: string;
  readonly value: string;
  /** with the separator before it */
  readonly help: string;
}

/** `q` leaves, as in the menu. @param value the choice that leaves */
export function quitKey({ say }: LearnContext, value: string): ChoiceKey {
  return { key: "q", value, help: say("quitKey") };
}

/** Whether there is a terminal for prompts. */
export function canAsk({ context }: LearnContext): boolean {
  return context.streams.stdin.isTTY === true && context.streams.stderr.isTTY === true;
}

/** Where prompts read and write: stdout is for results. */
export function promptContext({ context }: LearnContext) {
  return { input: context.streams.stdin, output: context.streams.stderr, signal: context.signal };
}

/** Asks for a line; an empty one means `usual`. */
export async function askText(env: LearnContext, message: string, usual: string): Promise<string> {
  if (isPlain(env)) return (await askLine(env, `${message} (${usual}) `)) || usual;
  const { default: input } = await import("@inquirer/input");
  return input({ message, default: usual }, promptContext(env));
}

/**
 * Lets the learner choose with the arrow keys; on a terminal that cannot move the cursor (TERM=dumb, as with screen readers) by
 * typing a number.
 * @param over ends the question with an AbortError
 * @param keys values that a key chooses at once, with their words for the line of keys
 * @throws LabError USAGE without a terminal
 */
export async function choose(
  env: LearnContext,
  message: string,
  choices: readonly Choice[],
  keys: readonly ChoiceKey[] = [],
  over?: AbortSignal,
): Promise<string> {
  if (!canAsk(env)) {
    throw new LocalizedError("USAGE", env.say("noTerminal"), env.say("noTerminalHint"));
  }
  if (isPlain(env)) return chooseByNumber(env, message, choices);
  // Loads only this prompt, because all of inquirer takes longer to load than the rest of the menu.
  const [{ default: select, Separator }, { makeTheme }] = await Promise.all([
    import("@inquirer/select"),
    import("@inquirer/core"),
  ]);
  // inquirer writes a mark before the question and repeats the answer after it.
  const lines = wrap(message, env.columns - 3);
  const left = env.columns - textWidth(lines.at(-1) ?? "") - 4;
  const items = choices.map((one) => {
    if ("heading" in one) return new Separator(one.heading);
    // Further lines are aligned with the first one.
    const name = wrap(one.name, env.columns - 3).join("\n  ");
    return { ...one, name, short: textWidth(one.name) <= left ? one.name : `\n  ${name}` };
  });
  const help = [env.say("keysHelp"), ...keys.map((one) => one.help)].join("");
  // A tick behind a chosen answer would look like a verdict.
  const { idle } = makeTheme({}).prefix as { readonly idle: string };
  const { unicode } = env.renderer("stderr").options;
  const theme = {
    prefix: idle,
    icon: { cursor: unicode ? "❯" : ">" },
    style: { keysHelpTip: () => wrap(help, env.columns - 1).join("\n") },
  };
  const { signal, ...streams } = promptContext(env);
  const cancel = new AbortController();
  const context = {
    ...streams,
    signal: AbortSignal.any([signal, cancel.signal, ...(over === undefined ? [] : [over])]),
    clearPromptOnDone: false,
  };
  let pressed: ChoiceKey | undefined;
  // The prompt itself moves to the choice that begins with a letter.
  const press = (letter: string | undefined) => {
    // More letters of the same input can follow before the prompt ends.
    if (pressed !== undefined) return;
    pressed = keys.find(({ key }) => key === letter);
    if (pressed === undefined) return;
    context.clearPromptOnDone = true;
    cancel.abort();
  };
  context.input.on("keypress", press);
  try {
    return await select(
      { message: lines.join("\n  "), choices: items, loop: false, theme, pageSize: pageSize(env) },
      context,
    );
  } catch (error) {
    if (pressed === undefined) throw error;
    return pressed.value;
  } finally {
    context.input.off("keypress", press);
  }
}

/** Rows for choices, below the question and above the help. */
function pageSize({ context }: LearnContext): number {
  const { rows = 24 } = context.streams.stderr as { readonly rows?: number };
  return Math.max(5, rows - 6);
}

/** Whether the terminal cannot move the cursor, as with screen readers. */
export function isPlain({ context }: LearnContext): boolean {
  return context.env["TERM"] === "dumb";
}

/** Prints numbered choices and asks until the answer is one of the numbers. */
async function chooseByNumber(env: LearnContext, message: string, choices: readonly Choice[]): Promise<string> {
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
async function askLine({ context }: LearnContext, question: string): Promise<string> {
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
