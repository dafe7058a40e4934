import type { Clock } from "../../util/clock.js";
import type { Timer } from "../../util/timer.js";
import type { TraceEvent } from "../events.js";

/** The number of facts of one form that are shown within the span; further ones are counted until a span has fewer. */
const MAX_SHOWN = 30;
const SPAN_MS = 10_000;
/** How often the counts are shown. */
const COUNT_MS = 5_000;
/** Forms that are remembered; the oldest is forgotten. */
const MAX_FORMS = 1_000;
/** The user requested each of these. */
const WHOLE: ReadonlySet<TraceEvent["kind"]> = new Set(["table", "frame"]);

interface Form {
  /** the start of its span: Unix ms on the trace's clock */
  sinceMs: number;
  /** facts in the span, and how many of them are shown */
  count: number;
  limit: number;
}

interface Folded {
  count: number;
  last: TraceEvent;
  text: string;
}

/** Keeps a terminal usable when thousands of pods do the same: facts that differ only in names and numbers become one line with a count. */
export class Fold {
  readonly #forms = new Map<string, Form>();
  /** counts that are not shown yet, by form */
  readonly #folded = new Map<string, Folded>();
  #timer: Timer | undefined;
  #lastMs = 0;

  /** @param show writes a line with a count: a note */
  constructor(
    readonly show: (event: TraceEvent) => void,
    readonly clock: Pick<Clock, "timer">,
  ) {}

  /**
   * Counts a fact that would be shown.
   * @param text its sentence
   * @returns whether it is only counted
   */
  take(event: TraceEvent, text: string): boolean {
    if (WHOLE.has(event.kind)) return false;
    const key = `${event.actor} ${event.kind} ${formOf(text)}`;
    const form = this.#formAt(key, event.atMs);
    this.#lastMs = event.atMs;
    form.count++;
    if (form.count <= form.limit) return false;
    const folded = this.#folded.get(key);
    if (folded === undefined) this.#folded.set(key, { count: 1, last: event, text });
    else Object.assign(folded, { count: folded.count + 1, last: event, text });
    this.#timer ??= this.clock.timer(COUNT_MS, () => this.flush());
    return true;
  }

  /** Shows the counts. */
  flush(): void {
    this.#timer?.stop();
    this.#timer = undefined;
    for (const { count, last, text } of this.#folded.values()) {
      const line = `${count} more like this: ${text}; -v 1 shows each`;
      this.show({ ...last, atMs: this.#lastMs, kind: "note", text: line } as TraceEvent);
    }
    this.#folded.clear();
  }

  #formAt(key: string, atMs: number): Form {
    const form = this.#forms.get(key);
    if (form !== undefined && atMs - form.sinceMs < SPAN_MS) return form;
    const isBusy = form !== undefined && form.count > MAX_SHOWN;
    const next = { sinceMs: atMs, count: 0, limit: isBusy ? 0 : MAX_SHOWN };
    this.#forms.delete(key);
    this.#forms.set(key, next);
    const oldest = this.#forms.size > MAX_FORMS ? this.#forms.keys().next().value : undefined;
    if (oldest !== undefined) this.#forms.delete(oldest);
    return next;
  }
}

/** What a periodic change repeats: `Lease n1 renewTime`; undefined for other facts. */
export function repeatedBy(event: TraceEvent): string | undefined {
  return event.every === undefined || event.kind !== "state" ? undefined : `${event.subject} ${event.what}`;
}

/** `Lease n1 renewTime, again 24x, every 10 s` */
export function againText(what: string, count: number, { every = "" }: TraceEvent): string {
  return `${what}, again ${count}x, every ${every}`;
}

/** The facts of a trace in which each periodic change is shown once, and the last of its repeats is a line with their count. Pure. */
export function withoutRepeats(facts: readonly TraceEvent[]): readonly TraceEvent[] {
  const runs = new Map<string, TraceEvent[]>();
  for (const fact of facts) {
    const what = repeatedBy(fact);
    if (what !== undefined) runs.set(what, [...(runs.get(what) ?? []), fact]);
  }
  return facts.flatMap((fact): readonly TraceEvent[] => {
    const what = repeatedBy(fact) ?? "";
    const run = runs.get(what) ?? [];
    if (run.length <= 2 || run[0] === fact) return [fact];
    if (run.at(-1) !== fact) return [];
    return [{ ...fact, kind: "note", text: againText(what, run.length - 1, fact) } as TraceEvent];
  });
}

/** A text without the names of objects (`default/web-1`), without what is quoted, and without words that have digits. */
export function formOf(text: string): string {
  return text
    .replace(/"[^"]*"/g, '""')
    .replace(/[^\s:]+/g, (word) => (word.includes("/") ? "/" : word))
    .replace(/[^\s:,]+/g, (word) => (/\d/.test(word) ? "0" : word));
}
