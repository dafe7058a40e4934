import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../util/clock.js";
import type { Actor, Fact, StepFact, TraceEvent } from "./events.js";

/**
 * From which `-v` on a fact is shown: 0 outcome and errors, 1 steps, decisions and states (the default),
 * 2 requests and calls, 3 what the servers decided about each request, 4 bodies.
 */
export type Level = 0 | 1 | 2 | 3 | 4;

export interface TraceSink {
  /** facts above this level are thrown away here; undefined: none are */
  readonly level?: Level;
  write(event: TraceEvent): void;
  /** Called once at the end: flush, close files. */
  close?(): Promise<void>;
}

export interface EmitOptions {
  readonly actor: Actor;
  readonly level?: Level;
  readonly causedBy?: number;
}

interface Scope {
  readonly chapter?: string;
  readonly stepSeq?: number;
}

/** Default level by kind of fact. */
const LEVELS: Record<Fact["kind"], Level> = {
  step: 1,
  decision: 1,
  state: 1,
  event: 1,
  note: 1,
  table: 1,
  frame: 1,
  error: 0,
  request: 2,
  rpc: 2,
};

/**
 * Collects facts, stamps them, and hands them to sinks at once, in order.
 *
 * Which step a fact belongs to follows the asynchronous context: whatever runs inside `step(...)`, also a request made
 * three calls deeper, carries that step as its cause. No step object is handed around.
 */
export class Trace {
  readonly #scope = new AsyncLocalStorage<Scope>();
  readonly #sinks: TraceSink[] = [];
  #nextSeq = 1;

  /**
   * @param clock stamps the facts
   * @param wantsBodies whether request facts should carry (redacted) bodies: true under `-v 4` and for trace files
   */
  constructor(
    readonly clock: Clock,
    readonly wantsBodies = false,
  ) {}

  addSink(sink: TraceSink): void {
    this.#sinks.push(sink);
  }

  /** Would anybody keep a fact of this level? For facts that are dear to make. */
  wants(level: Level): boolean {
    return this.#sinks.some((sink) => (sink.level ?? 4) >= level);
  }

  /** seq of the step that this is in: for facts that will be reported from a callback, which has no step any more. */
  get cause(): number | undefined {
    return this.#scope.getStore()?.stepSeq;
  }

  /** @returns the stamped event; its `seq` can serve as a later fact's `causedBy` */
  emit(fact: Fact, options: EmitOptions): TraceEvent {
    const scope = this.#scope.getStore();
    const causedBy = options.causedBy ?? scope?.stepSeq;
    const event: TraceEvent = {
      seq: this.#nextSeq++,
      atMs: this.clock.now(),
      actor: options.actor,
      level: options.level ?? LEVELS[fact.kind],
      ...(scope?.chapter === undefined ? {} : { chapter: scope.chapter }),
      ...(causedBy === undefined ? {} : { causedBy }),
      ...fact,
    };
    for (const sink of this.#sinks) sink.write(event);
    return event;
  }

  /**
   * Reports a step and runs `body` inside it: everything reported there has this step as its cause.
   * With nobody to tell it to it only calls `body`, as `detached` does and for its reason: what is reported in a step that
   * nobody knows of has no cause.
   */
  step<T>(actor: Actor, title: string, options: Omit<StepFact, "kind" | "title">, body: () => T): T {
    if (!this.wants(LEVELS.step)) return body();
    const event = this.emit({ kind: "step", title, ...options }, { actor });
    return this.#scope.run({ ...this.#scope.getStore(), stepSeq: event.seq }, body);
  }

  /** Runs `body` with every fact in it stamped as of this chapter, if anybody is told any. */
  chapter<T>(name: string, body: () => T): T {
    if (!this.wants(0)) return body();
    return this.#scope.run({ chapter: name }, body);
  }

  /**
   * Runs `body` outside any step: for background loops that outlive the step which started them.
   * Outside any scope it only calls `body`: the first use of the asynchronous context makes every promise of the process
   * dearer (on Node 20 about twice), and a control plane that serves no chapter never needs it.
   */
  detached<T>(body: () => T): T {
    const scope = this.#scope.getStore();
    if (scope?.stepSeq === undefined) return body();
    return this.#scope.run(scope.chapter === undefined ? {} : { chapter: scope.chapter }, body);
  }

  async close(): Promise<void> {
    for (const sink of this.#sinks) await sink.close?.();
  }
}
