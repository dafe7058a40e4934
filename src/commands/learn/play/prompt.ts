import { LocalizedError } from "../../../util/i18n/message-error.js";
import { wrap } from "../../../util/text/text-width.js";
import type { LearnContext } from "../context.js";
import type { KeyHint } from "./key-prompt.js";
import type { Choice } from "./number-prompt.js";

/** Answers questions in place of the terminal. */
export interface OtherInput {
  /** @throws the signal's reason */
  ask(question: Question, signal: AbortSignal): Promise<string>;
}

export interface Question {
  /** lines above the choices */
  readonly lines: readonly string[];
  readonly choices?: readonly Choice[];
  /** keys that choose at once */
  readonly keys?: readonly KeyHint[];
  /** ends the question with an AbortError */
  readonly over?: AbortSignal | undefined;
  /** it can answer as well; the first answer counts */
  readonly page?: OtherInput | undefined;
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
  const { choices = [], over, page } = question;
  const { output, signal: ofProcess } = promptContext(env);
  const elsewhere = new AbortController();
  const signal = AbortSignal.any([ofProcess, elsewhere.signal, ...(over === undefined ? [] : [over])]);
  let given: string | undefined;
  const onPage = (value: string) => {
    given = value;
    elsewhere.abort();
  };
  page?.ask(question, signal).then(onPage, () => {});
  let value: string;
  try {
    value = await chooseHere(env, question, signal);
  } catch (error) {
    if (given === undefined) throw error;
    value = given;
  } finally {
    elsewhere.abort();
  }
  const chosen = choices.flatMap((one) => ("value" in one && one.value === value ? [one.name] : []));
  const mark = env.renderer("stderr").options.unicode ? "❯" : ">";
  const shown = chosen.flatMap((name) => wrap(`${mark} ${name}`, (output.columns || 80) - 1));
  if (isPlain(env) && given !== undefined) shown.unshift("");
  if (shown.length > 0 && (!isPlain(env) || given !== undefined)) output.write(`${shown.join("\n  ")}\n`);
  return value;
}

async function chooseHere(env: LearnContext, question: Question, signal: AbortSignal): Promise<string> {
  const { lines, choices = [], keys = [] } = question;
  const { input, output } = promptContext(env);
  if (isPlain(env)) {
    const ask = (count: number) => env.say("typeNumber", { count });
    const { numberPrompt } = await import("./number-prompt.js");
    return numberPrompt({ lines, choices, keys, ask }, env.context.streams, signal);
  }
  const { keyPrompt } = await import("./key-prompt.js");
  const { chalk, unicode } = env.renderer("stderr").options;
  const screen = () => ({ chalk, unicode, columns: output.columns || 80 });
  const rows = choices.filter((one) => "value" in one);
  const config = { lines, choices: rows, keys, choosing: env.say("keyChoose"), screen, stream: output };
  return keyPrompt(config, { input, output, signal, clearPromptOnDone: true });
}

/** Whether the terminal cannot move the cursor, as with screen readers. */
export function isPlain({ context }: LearnContext): boolean {
  return context.env["TERM"] === "dumb";
}
