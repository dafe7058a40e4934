import { Chalk } from "chalk";
import { LabRenderer } from "../../src/commands/learn/play/render.js";
import type { LabMessage } from "../../src/lab/labs/session/message.js";
import { sayIn } from "../../src/util/i18n/catalogue.js";
import type { Language } from "../../src/util/i18n/language.js";
import { textWidth } from "../../src/util/text/text-width.js";

const WIDTHS = [60, 80, 120];
/** Wider than any line. */
const WHOLE = 100_000;
/** Messages whose words stay whole; tables shorten their cells. */
const PROSE: ReadonlySet<LabMessage["kind"]> = new Set(["text", "hint", "question", "answer", "verdict"]);
/** Commands: a shell does not continue a quoted word in the next line. */
const TYPED: ReadonlySet<LabMessage["kind"]> = new Set(["running", "command"]);
/** A sign or prompt in the margin, or the end of a line that continues. */
const MARGIN = /^(?:[✓✗▸•>$\\-]|\d+\.)$/;

/** Time, actor and sign in front of a fact. */
const LEAD = /^\s*-?\d+(?:\.\d+)? \S+ +\S /;

/** Renders a lab's messages for terminals of 60, 80 and 120 columns, and reports lines that are too wide and words that are broken. */
export class RenderedWidths {
  readonly #problems = new Set<string>();

  get problems(): readonly string[] {
    return [...this.#problems];
  }

  see(language: Language, message: LabMessage): void {
    // Output of programs is theirs.
    if (message.kind === "output") return;
    const isProse = PROSE.has(message.kind) && language === "en";
    const words = new Set(wordsOf(rendered(language, message, WHOLE)));
    for (const width of WIDTHS) {
      const lines = rendered(language, message, width);
      const isWide = TYPED.has(message.kind) ? isTooWideToType : isTooWide;
      for (const line of lines.filter((one) => isWide(one, width))) {
        this.#problems.add(`${message.kind} in ${width} columns: ${line}`);
      }
      const broken = isProse ? wordsOf(lines).find((word) => !words.has(word)) : undefined;
      if (broken !== undefined) this.#problems.add(`${message.kind} in ${width} columns breaks a word: ${broken}`);
    }
  }
}

function rendered(language: Language, message: LabMessage, width: number): readonly string[] {
  let text = "";
  const options = { chalk: new Chalk({ level: 0 }), width: () => width, say: sayIn(language), unicode: true };
  new LabRenderer(options, { write: (piece) => (text += piece) }).write(message);
  return text.split("\n");
}

/** A path or URL that is wider than the terminal stays whole, so that it can be copied. */
export function isTooWide(line: string, width: number): boolean {
  return textWidth(line) > width && line.replace(LEAD, "").trim().includes(" ");
}

/** A word that is quoted or has no commas, and a line of a here-document, stay whole. */
function isTooWideToType(line: string, width: number): boolean {
  const [, words] = /^\s*(?:\$ | {3})(\S.*?)(?: ?\\)?$/.exec(line) ?? [];
  return textWidth(line) > width && words !== undefined && /[ ,]/.test(words) && !/['"]/.test(words);
}

function wordsOf(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => line.split(/\s+/)).filter((word) => word !== "" && !MARGIN.test(word));
}
