import { createInterface } from "node:readline";
import type { ProcessStreams } from "../../../testbed/context.js";
import type { KeyHint } from "./key-prompt.js";

export type Choice = { readonly heading: string } | { readonly value: string; readonly name: string };

interface NumberView {
  readonly lines: readonly string[];
  readonly choices: readonly Choice[];
  readonly keys: readonly KeyHint[];
  readonly ask: (count: number) => string;
}

/** Prints numbered choices and asks until the answer is one of the numbers. */
export async function numberPrompt(
  { lines, choices: rows, keys, ask }: NumberView,
  streams: ProcessStreams,
  signal: AbortSignal,
): Promise<string> {
  const choices = [...rows, ...named(keys)];
  const { stderr } = streams;
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
    const answer = (await askLine(streams, ask(values.length), signal)).trim();
    const value = /^\d+$/.test(answer) ? values[Number(answer) - 1] : undefined;
    if (value !== undefined) return value;
  }
}

/** @throws AbortError at the end of the input; the signal's reason */
async function askLine(streams: ProcessStreams, question: string, signal: AbortSignal): Promise<string> {
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

/** Keys as choices; one without a word has the word of the one before. */
function named(keys: readonly KeyHint[]): readonly Choice[] {
  return keys.map(({ value, key, name, sign }, i) => {
    const isOne = name !== "" && sign === undefined;
    return { value, name: isOne ? name : `${name || keys[i - 1]?.name} ${key}` };
  });
}
