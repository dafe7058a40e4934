import type { TraceEvent } from "../../../trace/events.js";
import { formOf } from "../../../trace/terminal/fold.js";
import { translated } from "../../../trace/translated.js";
import { findIn } from "../checks/match.js";
import type { ShownFact } from "../environment/runner.js";
import { objectsIn } from "../format/references.js";
import type { LabDefinition, Step } from "../format/schema.js";
import type { LabMessage } from "./message.js";

/** The most lines that room is kept for: those of wrong outcomes never come. */
const MAX_AWAITED = 4;
/** A table with at most this many rows is shown completely. */
const WHOLE_TABLE = 6;

/**
 * The patterns of the lines that a step's trace is about: the author's choice, else what the step's own checks look for in an output, and what
 * later steps look at. Pure.
 */
export function aboutOf(step: Step, { steps }: Pick<LabDefinition, "steps">): readonly string[] {
  if ("shows" in step && step.shows !== undefined) return step.shows;
  const parts = objectsIn(step);
  const names = [step.id, ...parts.map(({ as }) => as)];
  const read = parts.flatMap((one) => [one["until"], one["because"], "output" in one ? one["matches"] : undefined]);
  const looks = steps.flatMap((one) => ("observe" in one && names.includes(one.observe) ? one.lines : []));
  return [...looks, ...read.filter((pattern) => typeof pattern === "string")];
}

/** The trace of a lab's commands, step by step: how much each fact matters to the step. */
export class LabTrace {
  #step = "";
  about: readonly string[] = [];
  #awaited = new Set<string>();
  /** the ids of the facts of the step's commands */
  ids = new Set<string>();
  /** the results of the step's commands of which only a part was shown */
  results: string[] = [];
  /** Unix ms from which all lines of the step count: when its first command began; until then that of an earlier step */
  startMs: number | undefined;
  /** the step of the lab that has shown a stage first, by the stage's title without names and numbers */
  readonly #stages = new Map<string, string>();
  /** the ids of stages that were explained before, and of those below them */
  readonly #explained = new Set<string>();
  #wasExplained = false;

  constructor(readonly definition: Pick<LabDefinition, "steps" | "explained">) {}

  begin(step: Step): void {
    this.#step = step.id;
    this.about = aboutOf(step, this.definition);
    this.#awaited = new Set(this.about);
    this.ids = new Set();
    this.results = [];
  }

  messageOf({ event, lines: { english, shown }, options: { say, startMs } }: ShownFact): LabMessage {
    if (this.ids.size === 0) this.startMs = startMs;
    this.ids.add(event.id);
    const has = (line: string) => (pattern: string) => findIn(line, pattern) !== undefined;
    const found = this.about.filter(has(english.join("\n")));
    for (const pattern of found) this.#awaited.delete(pattern);
    const isTold = !this.#isExplained(event, english) && this.#explains(event);
    const isAbout = (i: number) => found.some(has(english[i] ?? ""));
    const fact = say === undefined ? event : translated(event, say);
    const message = {
      kind: "trace",
      fact,
      afterMs: event.atMs - (this.startMs ?? startMs),
      interest: found.length > 0 ? "about" : isTold ? "more" : "none",
      awaited: Math.min(MAX_AWAITED, this.#awaited.size),
      details: shown.flatMap((line, i) => (i > 0 && isAbout(i) ? [line.trim()] : [])),
    } as const;
    if (fact.kind !== "table") return message;
    // A small table is read as a whole. The title and the head are above the rows.
    const rows = fact.rows.length <= WHOLE_TABLE ? [] : fact.rows.filter((_, i) => isAbout(i + 2));
    return { ...message, fact: rows.length === 0 ? fact : { ...fact, rows }, details: [] };
  }

  /** Whether a fact is in a stage that an earlier step or lab explains. Of several in a row, the first is one line. */
  #isExplained(fact: TraceEvent, english: readonly string[]): boolean {
    const isBelow = this.#explained.has(fact.causedBy ?? "");
    if (fact.kind !== "step" || isBelow) {
      if (isBelow) this.#explained.add(fact.id);
      return isBelow;
    }
    const title = formOf(fact.title);
    const isByLab = this.definition.explained.some((one) => findIn(english.join("\n"), one) !== undefined);
    const first = this.#stages.get(title) ?? this.#step;
    this.#stages.set(title, first);
    const isFirst = !this.#wasExplained;
    this.#wasExplained = isByLab || first !== this.#step;
    if (this.#wasExplained) this.#explained.add(fact.id);
    return this.#wasExplained && !isFirst;
  }

  /** Whether a fact explains a step by itself. Requests, frames and the like do so only if the step is about them. */
  #explains(fact: TraceEvent): boolean {
    if (fact.level > 1) return false;
    if (fact.kind === "event") return fact.type === "Warning";
    // Other notes greet and explain, as the lab's text does.
    if (fact.kind === "note") return fact.text.includes(" http://");
    // Without a choice, what changed is what matters.
    return ["step", "decision", "error"].includes(fact.kind) || (fact.kind === "state" && this.about.length === 0);
  }
}
