import type { ChalkInstance } from "chalk";
import type { LabMessage } from "../../../lab/labs/session/message.js";
import type { TraceEvent } from "../../../trace/events.js";
import { actorColour, signColour } from "../../../trace/terminal/colours.js";
import { ACTOR_WIDTH, factText, TIME_WIDTH, timeColumn } from "../../../trace/terminal/render-event.js";
import { wrappedTable } from "../../../trace/terminal/table.js";
import { printable, shortIds } from "../../../trace/terminal/text.js";
import type { Say } from "../../../util/i18n/catalogue.js";
import { textWidth, wrap } from "../../../util/text/text-width.js";

export interface RenderOptions {
  readonly chalk: ChalkInstance;
  readonly width: () => number;
  /** of texts; default: what is easy to read */
  readonly maxWidth?: number;
  readonly say: Say;
  readonly unicode: boolean;
  /** the key `t` shows the whole trace */
  readonly hasKeys?: boolean;
}

/** time, actor, sign, and a space after each */
const MARGIN = TIME_WIDTH + 1 + ACTOR_WIDTH + 1 + 2;
/** The most lines of a step's trace on the screen, unless the step is about more. */
const MAX_LINES = 8;

/** Shows what the trace of a step is about, and what there is room for; counts the rest. */
export class ShownTrace {
  #shown = 0;
  #folded = 0;

  constructor(readonly options: RenderOptions) {}

  /** The lines of a fact; none if it is only counted. */
  take(message: LabMessage & { kind: "trace" }): readonly string[] {
    const lines = traceLines(message, this.options);
    const { interest, awaited } = message;
    if (interest === "about" || (interest === "more" && this.#shown + lines.length + awaited <= MAX_LINES)) {
      this.#shown += lines.length;
      return lines;
    }
    // A note greets, as the lab's text does.
    if (message.fact.kind !== "note") this.#folded += 1;
    return [];
  }

  /** Counts lines of a result that were not shown. */
  fold(count: number): void {
    this.#folded += count;
  }

  /** The number of the facts that were only counted, before a message that follows them. */
  countBefore({ kind }: LabMessage): readonly string[] {
    if (kind === "trace") return [];
    if (kind === "step") this.#shown = 0;
    const count = this.#folded;
    this.#folded = 0;
    const { chalk, say, hasKeys = false } = this.options;
    return count === 0 ? [] : [chalk.dim(`  ${say(hasKeys ? "foldedKey" : "folded", { count })}`)];
  }
}

/** The duration of a request explains nothing, and the actor shows whose request it is, except for a user's different identities. */
export function withoutEnd({ kind, actor }: TraceEvent, text: string, say: Say): string {
  if (kind !== "request") return text;
  return text.replace(/ \(\d+ ms, as ([^()]*?)(?: \(.*\))?\)$/, (_, name: string) =>
    actor === "user" ? say("evidenceAs", { name }) : "",
  );
}

/** A fact in short: its sentence, and below it the lines that the step is about. */
function traceLines({ fact, afterMs, details }: LabMessage & { kind: "trace" }, options: RenderOptions): string[] {
  const { chalk, width, unicode } = options;
  const { sign, text } = factText(fact, { chalk, width, unicode, verbosity: 1, startMs: 0 });
  const room = width() - MARGIN;
  const inLines = (line: string) => {
    const short = shortIds(line, unicode);
    return textWidth(short) <= room ? [short] : wrap(short, room);
  };
  const rows = fact.kind === "table" ? wrappedTable(fact, room).map(printable) : [];
  const below = [...details, ...rows].flatMap(inLines).map((line) => chalk.dim(line));
  // The further lines of a note are commands to paste, which the lab's shell does not need.
  const [sentence = ""] = withoutEnd(fact, text, options.say).split("\n");
  const [first = "", ...rest] = [...inLines(sentence), ...below];
  const time = chalk.dim(timeColumn(afterMs));
  const head = `${time} ${actorColour(fact.actor, chalk)(fact.actor.padEnd(ACTOR_WIDTH))}`;
  const lead = `${head} ${signColour(fact, chalk)(sign.padEnd(1))} `;
  return [`${lead}${first}`, ...rest.map((line) => " ".repeat(MARGIN) + line)];
}
