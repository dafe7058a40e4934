import { createPrompt, isDownKey, isEnterKey, isUpKey, useEffect, useKeypress, useState } from "@inquirer/core";
import type { ChalkInstance } from "chalk";
import { textWidth, wrap } from "../../../util/text/text-width.js";

/** A key that works now, with its word for the footer; "": the word of the key before covers both. */
export interface KeyHint {
  readonly key: string;
  readonly value: string;
  readonly name: string;
  /** the footer's sign for several keys; default: the key */
  readonly sign?: string;
}

/** What a prompt shows above its footer, and what can be chosen. */
export interface KeyView {
  /** a question, or the state of a task */
  readonly lines: readonly string[];
  /** digits, arrow keys and Enter choose; without choices, Enter is the first key */
  readonly choices: readonly { readonly value: string; readonly name: string }[];
  readonly keys: readonly KeyHint[];
  /** the footer's words for choosing: `choose` */
  readonly choosing: string;
}

export interface KeyScreen {
  readonly chalk: ChalkInstance;
  readonly unicode: boolean;
  readonly columns: number;
}

const BETWEEN = "  ";

/** The lines of a prompt: the question, numbered choices, a rule, and the keys that work, which break between words. Pure. */
export function keyLines(view: KeyView, active: number, { chalk, unicode, columns }: KeyScreen): readonly string[] {
  const { lines, choices, keys, choosing } = view;
  const width = columns - 1;
  const rows = choices.flatMap(({ name }, i) => {
    const [first = "", ...rest] = wrap(name, width - 4);
    const isActive = i === active;
    const row = `${isActive ? (unicode ? "❯" : ">") : " "} ${i + 1} ${first}`;
    return [row, ...rest.map((line) => `    ${line}`)].map((line) => (isActive ? chalk.cyan(line) : line));
  });
  const digits = choices.length === 0 ? [] : [`1-${choices.length} ${choosing}`];
  const hints = [...digits, ...keys.flatMap(({ key, sign = key, name }) => (name === "" ? [] : [`${sign} ${name}`]))];
  const rule = (unicode ? "─" : "-").repeat(width);
  return [
    ...lines.flatMap((line) => wrap(line, width)),
    ...rows,
    ...[rule, ...footer(hints, width)].map((line) => chalk.dim(line)),
  ];
}

/** Fills lines with hints; a hint stays whole. */
function footer(hints: readonly string[], width: number): readonly string[] {
  const lines: string[] = [];
  for (const hint of hints) {
    const last = lines.at(-1);
    const together = `${last}${BETWEEN}${hint}`;
    if (last !== undefined && textWidth(together) <= width) lines[lines.length - 1] = together;
    else lines.push(hint);
  }
  return lines;
}

/** Resolves with the value of the first key that works, or of the choice. The screen is redrawn when its size changes. */
export const keyPrompt = createPrompt<
  string,
  KeyView & { readonly screen: () => KeyScreen; readonly stream: NodeJS.WritableStream }
>((config, done) => {
  const { choices, keys, screen, stream } = config;
  const [active, setActive] = useState(0);
  const [, setColumns] = useState(screen().columns);
  useEffect(() => {
    const onResize = () => setColumns(screen().columns);
    stream.on("resize", onResize);
    return () => stream.off("resize", onResize);
  }, []);
  useKeypress((key, line) => {
    const typed = line.line.slice(-1);
    line.clearLine(0);
    const quit = key.ctrl && key.name === "d" ? keys.find((one) => one.key === "q") : undefined;
    const chosen = quit ?? keys.find((one) => one.key === typed) ?? choices[Number(typed || "0") - 1];
    if (chosen !== undefined) done(chosen.value);
    else if (isEnterKey(key)) done((choices[active] ?? keys[0])?.value ?? "");
    else if (isUpKey(key)) setActive(Math.max(0, active - 1));
    else if (isDownKey(key)) setActive(Math.min(choices.length - 1, active + 1));
  });
  return `${keyLines(config, active, screen()).join("\n")}\u001b[?25l`;
});
