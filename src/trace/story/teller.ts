import type { TraceEvent } from "../events.js";
import { startMs } from "../graph/graph.js";
import { runInScope } from "../scope.js";
import { LEVELS, type Trace, type TraceSink } from "../trace.js";
import { isEffect, MAX_STEPS, type Role, roleInLife } from "./roles.js";
import { storyStep } from "./step.js";

/** What a command tells. */
export interface StoryRule {
  /**
   * @returns the title of the story that begins with the fact; undefined: none begins. The first step of a story that is told at once
   * waits for no decision in it
   */
  begins(event: TraceEvent): { title: string; isAtOnce?: boolean } | undefined;
  /** Whether a fact without a cause belongs to the story that is told. Default: none does. */
  joins?(event: TraceEvent): boolean;
  /** default: what an object's life consists of */
  roleOf?(event: TraceEvent): Role;
}

interface Known {
  readonly event: TraceEvent;
  readonly cause: Known | undefined;
  /** Times have whole milliseconds and durations are rounded: nothing begins before its cause. */
  readonly atMs: number;
  readonly depth: number;
  /** the first that says more about it */
  effect?: TraceEvent;
  /** the story that it belongs to */
  story: Telling | undefined;
  isTold: boolean;
  /** its text was told before, or its cause's: what only follows from it is a repeat, too */
  isRepeat?: boolean;
}

interface Telling {
  readonly title: string;
  /** the steps, each once: a story has no repeats */
  readonly texts: Set<string>;
}

/** Facts that are remembered. */
const MAX_KNOWN = 20_000;

/**
 * Tells the story of a run while it happens: the facts that the beginning caused, and their role in it. Facts wait for their causes,
 * because a request is reported when its answer arrives. Each step is told as soon as the facts of the same moment are known, so a killed run
 * keeps what was told.
 */
class StoryTeller implements TraceSink {
  readonly #known = new Map<string, Known>();
  /** by id, or by the version of an object: the facts that wait for that cause */
  readonly #waiting = new Map<string, TraceEvent[]>();
  readonly #titles = new Map<string, number>();
  #telling: Telling | undefined;
  #next: Known[] = [];
  #isOpen = true;

  constructor(
    readonly trace: Trace,
    readonly rule: StoryRule,
  ) {}

  write(event: TraceEvent): void {
    if (event.kind === "story" || !this.#isOpen) return;
    const { causedBy } = event;
    const cause = causedBy === undefined ? undefined : this.#known.get(causedBy);
    const waiting = this.#waiting.get(causedBy ?? "");
    if (causedBy === undefined || cause !== undefined) this.#settle(event, cause);
    else if (waiting === undefined) keep(this.#waiting, causedBy, [event]);
    else waiting.push(event);
  }

  /** Tells what is left. */
  close(): Promise<void> {
    this.#tell();
    this.#isOpen = false;
    return Promise.resolve();
  }

  #settle(event: TraceEvent, cause: Known | undefined): void {
    const atMs = Math.max(startMs(event), cause?.atMs ?? 0);
    const story = cause === undefined && this.rule.joins?.(event) === true ? this.#telling : cause?.story;
    const known: Known = { event, cause, atMs, depth: (cause?.depth ?? 0) + 1, story, isTold: false };
    if (cause !== undefined && isEffect(event, cause.event)) this.#explain(cause, event);
    keep(this.#known, event.id, known);
    this.#begin(known);
    this.#consider(known);
    // A version is that of the API server's fact, or of the request if there is none.
    for (const key of [event.id, event.kind === "state" || event.kind === "request" ? event.version : undefined]) {
      if (key === undefined) continue;
      if (!this.#known.has(key)) keep(this.#known, key, known);
      const waiting = this.#waiting.get(key) ?? [];
      this.#waiting.delete(key);
      for (const one of waiting) this.#settle(one, known);
    }
  }

  #explain(cause: Known, effect: TraceEvent): void {
    cause.effect ??= effect;
    if (cause.event.kind === "step" && this.#next.includes(cause)) this.#tellSoon();
  }

  #begin(known: Known): void {
    const begun = this.rule.begins(known.event);
    if (begun === undefined) return;
    this.#tell();
    const count = (this.#titles.get(begun.title) ?? 0) + 1;
    keep(this.#titles, begun.title, count);
    this.#telling = { title: count === 1 ? begun.title : `${begun.title} (${count})`, texts: new Set() };
    Object.assign(known, { story: this.#telling, isTold: false });
    this.#add(known);
    if (begun.isAtOnce === true) this.#tellSoon();
  }

  /** Tells a step, and before it the links that lead to it. */
  #consider(known: Known): void {
    if (known.story === undefined || known.story !== this.#telling || this.#roleOf(known) !== "step") return;
    const links: Known[] = [];
    for (let at = known.cause; at !== undefined && !at.isTold && at.story === known.story; at = at.cause)
      if (this.#roleOf(at) === "link") links.unshift(at);
    for (const one of [...links, known]) this.#add(one);
  }

  #roleOf({ event }: Pick<Known, "event">): Role {
    return (this.rule.roleOf ?? roleInLife)(event);
  }

  #add(known: Known): void {
    const { story } = known;
    if (known.isTold || story === undefined) return;
    known.isTold = true;
    const isHeld = known.event.kind === "step" && known.effect === undefined;
    const isFirst = this.#next.push(known) === 1;
    // A step waits for the decision in it, or for the next fact that is told.
    if (!isFirst || !isHeld) this.#tellSoon();
  }

  /** The facts of one moment are told together, each after its cause. */
  #tellSoon(): void {
    queueMicrotask(() => this.#tell());
  }

  #tell(): void {
    const { title = "", texts } = this.#telling ?? {};
    if (texts === undefined || this.#next.length === 0 || !this.#isOpen) return;
    const told = this.#next.sort((a, b) => a.atMs - b.atMs || a.depth - b.depth || a.event.seq - b.event.seq);
    this.#next = [];
    const steps = told.flatMap((known) => {
      const { event, effect, cause } = known;
      // A decision that is a step of its own is not also the reason of the step around it.
      const isOwnStep = event.kind === "step" && effect !== undefined && this.#roleOf({ event: effect }) === "step";
      const step = storyStep(event, isOwnStep ? undefined : effect);
      const key = `${event.actor} ${event.instance} ${step.text}`;
      // Each version of an object has another text.
      known.isRepeat = texts.has(key) || (cause?.isRepeat === true && this.#roleOf(known) === "link");
      if (known.isRepeat || texts.size === MAX_STEPS) return [];
      texts.add(key);
      return step;
    });
    if (steps.length === 0) return;
    runInScope({}, () => this.trace.emit({ kind: "story", title, steps }, { actor: "user" }));
  }
}

/**
 * Tells a command's story in its trace until it is disposed. Without a trace that keeps stories it does nothing.
 */
export function tellStory(trace: Trace, rule: StoryRule): Disposable {
  if (!trace.wants(LEVELS.story)) return { [Symbol.dispose]: () => {} };
  const teller = new StoryTeller(trace, rule);
  trace.addSink(teller);
  return { [Symbol.dispose]: () => void teller.close() };
}

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > MAX_KNOWN) map.delete(map.keys().next().value ?? "");
}
