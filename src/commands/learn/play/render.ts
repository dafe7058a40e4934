import { HINT_PRICE } from "../../../lab/labs/progress/result.js";
import type { LabMessage } from "../../../lab/labs/session/message.js";
import { wrappedTable } from "../../../trace/terminal/table.js";
import { printable, shortIds } from "../../../trace/terminal/text.js";
import type { MessageKey } from "../../../util/i18n/catalogue.js";
import { textWidth, wrap } from "../../../util/text/text-width.js";
import { continuedLine } from "../../cli/continued-line.js";
import { evidenceLines } from "./evidence.js";
import { renderCode, renderMarkdown, withoutCode } from "./markdown.js";
import { type RenderOptions, ShownTrace } from "./step-trace.js";

/** Before the further lines of a command. */
const INDENT = "   ";

/** A word of a shell line, with its quoted parts. */
const WORDS = /(?:'[^']*'|"(?:[^"\\]|\\.|\\$)*(?:"|$)|[^\s'"])+/g;
/** The words inside single quotes, which are not quotes of the script. */
const SCRIPT_WORDS = /(?:"(?:[^"\\]|\\.|\\$)*(?:"|$)|[^\s"])+/g;

/** The words of a script in `sh -c '...'`, whose lines can be continued as well, unless it has a comment. */
function scriptWords(word: string, index: number, [shell, flag]: readonly string[]): readonly string[] {
  const isScript = index === 2 && shell === "sh" && flag === "-c" && word.startsWith("'") && word.endsWith("'");
  return isScript && !word.includes("#") ? (word.match(SCRIPT_WORDS) ?? []) : [word];
}

/**
 * A command as a shell shows it: the lines of its here-document have no prompt. A long line continues in the next one
 * as in a shell, so that no terminal breaks it inside a word.
 */
function typedLines(command: string, width: number): string[] {
  const [line = "", ...more] = command.trimEnd().split("\n");
  const isOneLine = more.length === 0 || /<<['"]?\w+['"]?$/.test(line);
  if (!isOneLine || textWidth(`$ ${line}`) <= width) return [`$ ${line}`, ...more];
  const [first = "", ...words] = (line.match(WORDS) ?? []).flatMap(scriptWords);
  const parts = [`$ ${first}`, ...words.map((word) => brokenWord(word, width - INDENT.length))];
  const widest = (text: string) => Math.max(...text.split("\n").map(textWidth));
  return [...continuedLine(parts, INDENT, width, widest).flatMap((part) => part.split("\n")), ...more];
}

/** A word that is wider than a line goes on in the next one after a comma, at the margin, as a shell joins it; a quoted one stays whole. */
function brokenWord(word: string, width: number): string {
  if (textWidth(word) <= width || /['"\\#]/.test(word)) return word;
  const lines: string[] = [];
  for (const part of word.split(/(?<=,)/)) {
    const longer = `${lines.at(-1) ?? ""}${part}`;
    if (lines.length > 0 && textWidth(longer) < width) lines[lines.length - 1] = longer;
    else lines.push(part);
  }
  return lines.join("\\\n");
}

/** Wider text is hard to read on a terminal. */
const MAX_WIDTH = 90;

/** Messages that need an empty line after them, because the next text would seem to continue them. */
const BEFORE_TEXT = /answer|evidence|look|table|upstream|verdict/;

/** Renders a lab's messages for a terminal, except waits, which are one changing line. */
export class LabRenderer {
  #last = "";
  /** the lines of the last failed check of the step */
  #failed = "";
  readonly #trace: ShownTrace;

  constructor(
    readonly options: RenderOptions,
    readonly out: { write(text: string): unknown },
  ) {
    this.#trace = new ShownTrace(options);
  }

  get #width(): number {
    return Math.min(this.options.width(), this.options.maxWidth ?? MAX_WIDTH);
  }

  write(message: LabMessage): void {
    const isApart = message.kind === "text" && BEFORE_TEXT.test(this.#last);
    if (message.kind === "output") {
      this.out.write(message.text);
      this.#trace.fold(message.folded ?? 0);
    } else {
      const lines = [...this.#trace.countBefore(message), ...this.#lines(message)];
      if (isApart && lines.length > 0) lines.unshift("");
      if (lines.length > 0) this.out.write(`${lines.join("\n")}\n`);
    }
    this.#last = message.kind;
  }

  #lines(message: LabMessage): string[] {
    const { chalk, say, unicode } = this.options;
    switch (message.kind) {
      case "lab": {
        const head = chalk.bold(say("labBegins", { number: message.number, title: message.title }));
        const { summary, speed } = message;
        const notes = [say("elsewhere"), ...(speed > 1 ? [say("clockBehind", { factor: speed })] : [])];
        const shown = [withoutCode(summary), "", ...notes, ""].flatMap((text) => wrap(text, this.#width));
        return [...wrap(head, this.#width), ...shown.map((line) => chalk.dim(line))];
      }
      case "step": {
        this.#failed = "";
        const { index, count, title } = message;
        const text = say("stepTitle", { index, count, title });
        return ["", ...wrap(chalk.bold.cyan(text), this.#width), ""];
      }
      case "text":
        return message.markdown.trim() === "" ? [] : renderMarkdown(message.markdown, chalk, this.#width);
      case "command": {
        const lines = typedLines(message.line, this.#width - 4).map((line) => `    ${chalk.cyan(line)}`);
        const isElsewhere = message.where === "elsewhere";
        if (!isElsewhere && !message.isNoticed) return ["", ...lines];
        const where = say(isElsewhere ? "runElsewhere" : "runHereOrElsewhere");
        return ["", ...lines, ...wrap(where, this.#width).map((line) => chalk.dim(line))];
      }
      case "done-elsewhere":
        return ["", ...wrap(say("doneElsewhere"), this.#width)];
      case "running":
        return ["", ...typedLines(message.line, this.#width).map((line) => chalk.dim(line))];
      case "trace":
        return [...this.#trace.take(message)];
      case "exit":
        return message.code === 0 ? [] : [chalk.yellow(say("exitCode", { code: message.code }))];
      case "question":
        return [
          "",
          chalk.bold(say(message.isIncident ? "predictIncident" : "predictFirst")),
          ...message.choices.flatMap((one) => this.#choice(one)),
        ];
      case "needs-answer":
        return [chalk.yellow(say("needsAnswer", { choices: message.choices.join(", ") }))];
      case "answer": {
        const isRight = message.given === message.right;
        const shown = renderCode(printable(message.text), chalk);
        const expected = renderCode(printable(message.expected), chalk);
        const text = say(isRight ? "predictionRight" : "predictionWrong", { text: shown, expected });
        return ["", ...this.#marked(isRight, text), ...this.#reason(message.mistake)];
      }
      case "look":
        if (message.isMissing) return this.#hanging("    ", say("lookMissing", { pattern: message.line }));
        return this.#hanging(`  ${chalk.yellow(unicode ? "▸" : ">")} `, printable(message.line.trim()));
      case "upstream":
        return this.#hanging("    ", `${say("upstreamPlace")} ${message.path}`).map((line) => chalk.dim(line));
      case "waiting":
      case "waited":
        return [];
      case "verdict":
        return this.#verdict(message);
      case "evidence":
        return evidenceLines(message, this.options);
      case "table": {
        const { title, columns } = message;
        const table = { columns, rows: message.rows.map((row) => row.map((cell) => shortIds(cell, unicode))) };
        const lines = wrappedTable(table, this.options.width() - 2).map((line) => `  ${printable(line)}`);
        return (title === "" ? lines : [`  ${title}`, ...lines]).map((line) => chalk.dim(line));
      }
      case "hint": {
        const { index, count, text } = message;
        return [
          "",
          `${chalk.bold(say("hint", { index, count }))} ${chalk.dim(say("hintCosts", { price: HINT_PRICE }))}`,
          ...renderMarkdown(text, chalk, this.#width),
        ];
      }
      case "shown":
      case "done":
        return [];
      case "finished":
        return this.#closing(message.closing);
      case "output":
        return [];
    }
  }

  /** @param mark four columns wide */
  #hanging(mark: string, text: string): string[] {
    const [first = "", ...rest] = wrap(text, this.#width - 4);
    return [`${mark}${first}`, ...rest.map((line) => `    ${line}`)];
  }

  #choice({ key, text }: { readonly key: string; readonly text: string }): string[] {
    const [first = "", ...rest] = wrap(text, this.#width - 6);
    return [`  ${this.options.chalk.bold(key)}`, `      ${first}`, ...rest.map((line) => `      ${line}`)];
  }

  #verdict({ ok, isShown = false, seen, mistake, want }: LabMessage & { kind: "verdict" }): string[] {
    const { chalk, say } = this.options;
    const shown = (text: string) => renderCode(printable(text), chalk);
    if (ok) {
      const [done, detailed] = isShown ? (["shownDone", "shownOk"] as const) : (["checkDone", "checkOk"] as const);
      const words = seen === "" ? say(done) : say(detailed, { seen: shown(seen) });
      return ["", ...this.#marked(true, words)];
    }
    const line = (key: MessageKey, text: string) => this.#hanging("    ", say(key, { text: shown(text) }));
    const why = [
      ...(seen === "" ? [] : line("checkSees", seen)),
      ...this.#reason(mistake),
      ...line("checkWants", want ?? ""),
    ];
    if (this.#failed === why.join("\n")) return this.#marked(false, say("checkSame"));
    this.#failed = why.join("\n");
    return ["", ...this.#marked(false, say("checkFailed")), ...why];
  }

  /** The author's sentence on why an answer is wrong. */
  #reason(mistake: string | undefined): string[] {
    if (mistake === undefined) return [];
    const text = renderCode(printable(mistake), this.options.chalk);
    return this.#hanging("    ", this.options.say("checkMistake", { text }));
  }

  /** Puts a check mark or a cross before the text. */
  #marked(ok: boolean, text: string): string[] {
    const { chalk, unicode } = this.options;
    const mark = ok ? chalk.green(unicode ? "✓" : "+") : chalk.yellow(unicode ? "✗" : "x");
    const [first = "", ...rest] = wrap(text, this.#width - 3);
    return [`${mark} ${first}`, ...rest.map((line) => `  ${line}`)];
  }

  #closing(closing: Readonly<Record<string, string>>): string[] {
    const { chalk, say } = this.options;
    const sections = Object.entries(closing).flatMap(([heading, text]) => [
      "",
      chalk.bold(say(heading as MessageKey)),
      ...renderMarkdown(text, chalk, this.#width),
    ]);
    return ["", chalk.bold.green(say("labFinished")), ...sections];
  }
}
