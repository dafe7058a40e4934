import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../util/clock.js";
import type { Actor, Fact, StepFact, TraceEvent } from "./events.js";
import { Secrets } from "./secrets.js";

/**
 * The lowest `-v` that shows an event: 0 outcome and errors, 1 steps, decisions and states (the default), 2 requests
 * and calls, 3 the servers' decisions about each request, 4 bodies.
 */
export type Level = 0 | 1 | 2 | 3 | 4;

export interface TraceSink {
  /** events above this level are dropped; undefined: all are kept */
  readonly level?: Level;
  write(event: TraceEvent): void;
  /** Called once at the end: flushes and closes files. */
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

/** Default level by kind of event. */
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
 * Collects events, stamps them, and passes them to the sinks at once, in order.
 *
 * The current step follows the asynchronous context: everything inside `step(...)`, even a request three calls deeper,
 * has that step as its cause. No step object is passed around.
 */
export class Trace {
  readonly #scope = new AsyncLocalStorage<Scope>();
  readonly #sinks: TraceSink[] = [];
  #nextSeq = 1;

  /**
   * @param clock stamps the events
   * @param wantsBodies whether request events carry (redacted) bodies: true under `-v 4` and for trace files
   * @param secrets the values that every event is searched for; a trace that feeds another shares its own
   */
  constructor(
    readonly clock: Clock,
    readonly wantsBodies = false,
    readonly secrets = new Secrets(),
  ) {}

  addSink(sink: TraceSink): void {
    this.#sinks.push(sink);
  }

  /** Whether any sink keeps events of this level. Check it before making an expensive event. */
  wants(level: Level): boolean {
    return this.#sinks.some((sink) => (sink.level ?? 4) >= level);
  }

  /** The seq of the current step, for events that are reported later from a callback without a step. */
  get cause(): number | undefined {
    return this.#scope.getStore()?.stepSeq;
  }

  /** @returns the stamped event; a later event can use its `seq` as `causedBy` */
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
      ...(this.#sinks.length === 0 ? fact : this.secrets.maskAll(fact)),
    };
    for (const sink of this.#sinks) sink.write(event);
    return event;
  }

  /**
   * Reports a step and runs `body` inside it: everything reported there has this step as its cause. Without sinks it
   * only calls `body`, for the reason given at `detached`.
   */
  step<T>(actor: Actor, title: string, options: Omit<StepFact, "kind" | "title">, body: () => T): T {
    if (!this.wants(LEVELS.step)) return body();
    const event = this.emit({ kind: "step", title, ...options }, { actor });
    return this.#scope.run({ ...this.#scope.getStore(), stepSeq: event.seq }, body);
  }

  /** Runs `body`; events reported inside get this chapter. Without sinks it only calls `body`. */
  chapter<T>(name: string, body: () => T): T {
    if (!this.wants(0)) return body();
    return this.#scope.run({ chapter: name }, body);
  }

  /**
   * Runs `body` outside any step, for background loops that outlive the step that started them. Outside any scope it
   * only calls `body`: the first use of the asynchronous context makes every promise of the process slower (on Node 20
   * about twice), and a control plane that serves no chapter does not need it.
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
