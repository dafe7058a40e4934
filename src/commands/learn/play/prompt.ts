import { LocalizedError } from "../../../util/i18n/message-error.js";
import { wrap } from "../../../util/text/text-width.js";
import type { LearnContext } from "../context.js";
import type { KeyHint } from "./key-prompt.js";

export type Choice = { readonly heading: string } | { readonly value: string; readonly name: string };

export interface Question {
  /** lines above the choices */
  readonly lines: readonly string[];
  readonly choices?: readonly Choice[];
  /** keys that choose at once */
  readonly keys?: readonly KeyHint[];
  /** ends the question with an AbortError */
  readonly over?: AbortSignal | undefined;
}

/** `q` leaves, as in the menu. @param value the choice that leaves */
export function quitKey({ say }: LearnContext, value: string): KeyHint {
  return { key: "q", value, name: say("quit") };
}

/** Whether there is a terminal for prompts. */
export function canAsk({ context }: LearnContext): boolean {
  return context.streams.stdin.isTTY === true && context.streams.stderr.isTTY === true;
}

/** Where prompts read and write: stdout is for results. */
export function promptContext({ context }: LearnContext) {
  return { input: context.streams.stdin, output: context.streams.stderr, signal: context.signal };
}

/**
 * Lets the learner choose by keys; on a terminal that cannot move the cursor (TERM=dumb, as with screen readers) by typing a number.
 * The prompt then disappears; of its choices the chosen one stays.
 * @returns the value of the choice or the key
 * @throws LabError USAGE without a terminal
 */
export async function choose(env: LearnContext, question: Question): Promise<string> {
  if (!canAsk(env)) {
    throw new LocalizedError("USAGE", env.say("noTerminal"), env.say("noTerminalHint"));
  }
  const { lines, choices = [], keys = [], over } = question;
  const { input, output, signal: ofProcess } = promptContext(env);
  const signal = over === undefined ? ofProcess : AbortSignal.any([ofProcess, over]);
  if (isPlain(env)) return chooseByNumber(env, lines, [...choices, ...named(keys)], signal);
  const { keyPrompt } = await import("./key-prompt.js");
  const { chalk, unicode } = env.renderer("stderr").options;
  const screen = () => ({ chalk, unicode, columns: output.columns || 80 });
  const rows = choices.filter((one) => "value" in one);
  const config = { lines, choices: rows, keys, choosing: env.say("keyChoose"), screen, stream: output };
  const value = await keyPrompt(config, { input, output, signal, clearPromptOnDone: true });
  const chosen = rows.find((one) => one.value === value);
  const mark = unicode ? "❯" : ">";
  const shown = chosen === undefined ? [] : wrap(`${mark} ${chosen.name}`, screen().columns - 1);
  if (chosen !== undefined) output.write(`${shown.join("\n  ")}\n`);
  return value;
}

/** Keys as choices; one without a word has the word of the one before. */
function named(keys: readonly KeyHint[]): readonly Choice[] {
  return keys.map(({ value, key, name, sign }, i) => {
    const isOne = name !== "" && sign === undefined;
    return { value, name: isOne ? name : `${name || keys[i - 1]?.name} ${key}` };
  });
}

/** Whether the terminal cannot move the cursor, as with screen readers. */
export function isPlain({ context }: LearnContext): boolean {
  return context.env["TERM"] === "dumb";
}

/** Prints numbered choices and asks until the answer is one of the numbers. */
async function chooseByNumber(
  env: LearnContext,
  lines: readonly string[],
  choices: readonly Choice[],
  signal: AbortSignal,
): Promise<string> {
  const { stderr } = env.context.streams;
  const values: string[] = [];
  for (const line of lines) stderr.write(`${line}\n`);
  for (const one of choices) {
    if ("heading" in one) stderr.write(`${one.heading}\n`);
    else {
      values.push(one.value);
      stderr.write(`  ${values.length}) ${one.name}\n`);
    }
  }
  for (;;) {
    const answer = (await askLine(env, env.say("typeNumber", { count: values.length }), signal)).trim();
    const value = /^\d+$/.test(answer) ? values[Number(answer) - 1] : undefined;
    if (value !== undefined) return value;
  }
}

/** @throws AbortError at the end of the input; the signal's reason */
async function askLine({ context }: LearnContext, question: string, signal: AbortSignal): Promise<string> {
  const { streams } = context;
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
