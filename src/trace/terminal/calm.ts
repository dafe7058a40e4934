import { type Clock, SystemClock } from "../../util/clock.js";
import { textWidth } from "../../util/text/text-width.js";
import type { Timer } from "../../util/timer.js";
import type { Actor, TraceEvent } from "../events.js";
import type { Level, TraceSink } from "../trace.js";
import { asItIs } from "../translated.js";
import { upstreamUrl } from "../upstream.js";
import { actorColour, signColour } from "./colours.js";
import { againText, Fold, repeatedBy } from "./fold.js";
import type { TerminalOptions } from "./options.js";
import { ACTOR_WIDTH, factText, renderEvent, TIME_WIDTH, timeColumn } from "./render-event.js";
import { Depths } from "./terminal-sink.js";
import { printable, shortIds, shortNames, wrap } from "./text.js";
import { TraceSummary } from "./trace-summary.js";

export interface CalmOptions extends TerminalOptions {
  /** shown as `~` */
  readonly home: string | undefined;
  /** Makes a text a link, if the terminal has links. */
  readonly link: (text: string, url: string) => string;
  /** Shows repeats as one line with a count. */
  readonly onRepeat: (text: string) => void;
}

const INDENT = TIME_WIDTH + 1 + ACTOR_WIDTH + 1;
/** A narrower terminal gets the layout of `TerminalSink`. */
const MIN_WIDTH = 60;
/** A step waits this long for its first fact, to share its line. */
const HOLD_MS = 30;
/** The kinds whose details are reasons, constants and upstream functions: `-v 1` shows them. */
const FOLDED: ReadonlySet<TraceEvent["kind"]> = new Set(["step", "decision", "state"]);
/** The kinds that no fold keeps. */
const AT_ONCE: ReadonlySet<TraceEvent["kind"]> = new Set(["error", "event"]);

interface Held {
  readonly event: TraceEvent;
  readonly depth: number;
  readonly timer: Timer;
}

/**
 * Shows a run on one screen: a line for each step, decision and change, without reasons; steps have the time, and the upstream function
 * beside them. Periodic facts, and facts that thousands of pods share, are counted. A summary follows at the end.
 */
export class CalmSink implements TraceSink {
  readonly level: Level = 1;
  readonly #depths = new Depths();
  readonly #summary = new TraceSummary();
  readonly #repeats = new Map<string, number>();
  readonly #fold: Fold;
  #held: Held | undefined;
  /** the facts of a start, but for an actor's; undefined: none is running */
  #start: { readonly facts: TraceEvent[]; readonly shown: Actor | undefined } | undefined;
  #lastActor = "";

  constructor(
    readonly options: CalmOptions,
    readonly out: { write(text: string): unknown },
    readonly clock: Pick<Clock, "timer"> = new SystemClock(),
  ) {
    this.#fold = new Fold((count) => {
      this.flush();
      this.#write(count, 0);
    }, clock);
  }

  write(event: TraceEvent): void {
    this.#summary.add(event, this.options.numberOf?.(event));
    this.#show(event);
  }

  #show(event: TraceEvent): void {
    const start = event.level === 1 && !AT_ONCE.has(event.kind) ? this.#start : undefined;
    const isKept = start !== undefined && start.shown !== event.actor;
    if (isKept) start.facts.push(event);
    const isShown = event.level <= this.level && !isFolded(event) && !isKept;
    const depth = this.#depths.depthOf(event, isShown);
    if (!isShown || this.#isRepeat(event) || this.#fold.take(event, this.#text(event))) return;
    const held = this.#held;
    if (held !== undefined && isAnswer(event, held.event) && this.#writeAnswered(held, event)) return;
    this.flush();
    if (event.kind !== "step") this.#write(event, depth);
    else this.#held = { event, depth, timer: this.clock.timer(HOLD_MS, () => this.flush()) };
  }

  /** Keeps the facts of a start until `unfold`, but for errors, Events and those of an actor. */
  fold(shown: Actor | undefined): void {
    this.flush();
    this.#start = { facts: [], shown };
  }

  /** Shows the facts since `fold` as one line. @param what has started; undefined: nothing, and each fact is shown */
  unfold(what: string | undefined): void {
    const { facts = [] } = this.#start ?? {};
    this.#start = undefined;
    const last = facts.at(-1);
    if (last === undefined) return;
    const text = `${what} (${facts.length} facts, which -v 1 shows)`;
    if (what === undefined) for (const event of facts) this.#show(event);
    else this.#write({ ...last, kind: "note", actor: "user", text } as TraceEvent, 0);
  }

  /** Writes the step that still waits for its answer, before another line is written. */
  flush(): void {
    const held = this.#take();
    if (held !== undefined) this.#write(held.event, held.depth);
  }

  async close(): Promise<void> {
    this.flush();
    this.#fold.flush();
    const lines = this.#summary.lines(this.options, this.#repeats, (text) => this.#shorten(text));
    if (lines.length > 0) this.out.write(`${lines.join("\n")}\n`);
  }

  #take(): Held | undefined {
    const held = this.#held;
    held?.timer.stop();
    this.#held = undefined;
    return held;
  }

  #isRepeat(event: TraceEvent): boolean {
    const what = repeatedBy(event);
    if (what === undefined) return false;
    const count = this.#repeats.get(what);
    this.#repeats.set(what, (count ?? 0) + 1);
    if (count === undefined) return false;
    const { say = asItIs } = this.options;
    this.options.onRepeat(say(againText(what, count, event)));
    return true;
  }

  #writeAnswered(held: Held, answer: TraceEvent): boolean {
    const { chalk } = this.options;
    const step = this.#text(held.event);
    const text = this.#text(answer);
    const { sign } = factText(answer, this.options);
    const length = INDENT + 2 * held.depth + 2 + textWidth(`${step}  ${sign} ${text}`);
    if (length > this.options.width()) return false;
    this.#take();
    const said = `${chalk.bold(step)}  ${signColour(answer, chalk)(sign)} ${text}`;
    this.#line(held.event, held.depth, [said], length);
    return true;
  }

  #write(event: TraceEvent, depth: number): void {
    // A note can hold a command to paste, which must stay on one line.
    if (this.options.width() < MIN_WIDTH || event.kind === "note") {
      this.out.write(`${renderEvent(event, depth, this.options).join("\n")}\n`);
      return;
    }
    const { chalk } = this.options;
    const left = INDENT + 2 * (event.kind === "table" ? 0 : depth) + 2;
    const width = this.options.width() - left;
    const { details } = factText(event, { ...this.options, width: () => width });
    const paint = event.kind === "step" ? chalk.bold : event.kind === "error" ? chalk.red : (line: string) => line;
    const lines = wrap(this.#text(event), width).map((line) => paint(line));
    const rest = FOLDED.has(event.kind)
      ? []
      : details.flatMap((line) => wrap(line, width)).map((line) => chalk.dim(line));
    const used = lines.length === 1 && rest.length === 0 ? textWidth(this.#text(event)) : width;
    this.#line(event, event.kind === "table" ? 0 : depth, [...lines, ...rest], left + used);
  }

  /** @param endColumn of the only line's text */
  #line(event: TraceEvent, depth: number, body: readonly string[], endColumn: number): void {
    const { chalk } = this.options;
    const time = event.kind === "step" || depth === 0 ? seconds(event, this.options) : "".padStart(TIME_WIDTH);
    const actor = event.actor === this.#lastActor && depth > 0 ? "" : event.actor;
    this.#lastActor = event.actor;
    const lead = `${"  ".repeat(depth)}${factText(event, this.options).sign.padEnd(1)} `;
    const head = `${chalk.dim(time)} ${actorColour(event.actor, chalk)(actor.padEnd(ACTOR_WIDTH))} ${signColour(event, chalk)(lead)}`;
    const hang = " ".repeat(INDENT + lead.length);
    const [first = "", ...more] = body;
    const lines = [`${head}${first}${this.#source(event, endColumn)}`, ...more.map((line) => `${hang}${line}`)];
    this.out.write(`${lines.map((line) => line.trimEnd()).join("\n")}\n`);
  }

  /** The upstream function, dimmed, if it fits next to the text. */
  #source(event: TraceEvent, endColumn: number): string {
    const upstream = event.kind === "step" ? event.upstream : undefined;
    if (upstream === undefined) return "";
    const words = printable(`${upstream.file.split("/").at(-1)} ${upstream.func}`);
    if (endColumn + 2 + words.length > this.options.width()) return "";
    const [text, url] = [this.options.chalk.dim(words), upstreamUrl(upstream.file)];
    return `  ${url === undefined ? text : this.options.link(text, url)}`;
  }

  #text(event: TraceEvent): string {
    return this.#shorten(factText(event, this.options).text);
  }

  /** IDs, random names and the home folder are long and carry little information. */
  #shorten(text: string): string {
    const { home, unicode } = this.options;
    const short = shortNames(shortIds(text, unicode), unicode);
    return home === undefined || home.length < 2 ? short : short.replaceAll(`${home}/`, "~/");
  }
}

/** Normal Event objects repeat what states and decisions show. */
function isFolded(event: TraceEvent): boolean {
  return event.kind === "event" && event.type === "Normal";
}

/** Whether the first fact of a step can share the step's line. */
function isAnswer(event: TraceEvent, step: TraceEvent): boolean {
  const { kind } = event;
  return (kind === "decision" || kind === "state") && event.causedBy === step.id && event.actor === step.actor;
}

function seconds({ atMs }: TraceEvent, { startMs }: TerminalOptions): string {
  return timeColumn(atMs - startMs);
}
