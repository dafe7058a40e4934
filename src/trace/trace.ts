import { randomBytes } from "node:crypto";
import type { Clock } from "../util/clock.js";
import { defined } from "../util/defined.js";
import { bounded } from "./bounded.js";
import type { Actor, Fact, Peer, StepFact, TraceEvent } from "./events.js";
import { Secrets } from "./redaction/secrets.js";
import { currentScope, type Origin, runInScope, type Scope } from "./scope.js";

/**
 * The lowest `-v` that shows an event: 0 outcome and errors, 1 steps, decisions and states (the default), 2 requests
 * and calls, 3 the servers' decisions about each request and watch events, 4 bodies.
 */
export type Level = 0 | 1 | 2 | 3 | 4;

export interface TraceSink {
  /** the sink drops events above this level. `write` still gets them, unmasked. undefined: it keeps all events */
  readonly level?: Level;
  /** whether the trace should collect bodies for it */
  readonly wantsBodies?: boolean;
  write(event: TraceEvent): void;
  /** Called once at the end: flushes and closes files. */
  close?(): Promise<void>;
}

export interface EmitOptions {
  readonly actor: Actor;
  readonly level?: Level;
  /** from `newId`, for a fact whose id was used before it could be reported */
  readonly id?: string;
  /** instead of the cause that the scope names */
  readonly causedBy?: string;
  /** the step before, for a step that would have no cause; it keeps its origin */
  readonly follows?: string;
  readonly instance?: string;
  readonly peer?: Peer;
  /** for periodic facts: the interval, `10 s` */
  readonly every?: string;
}

/** What code works on, and why. A watch event that a client received is one. */
export interface Cause {
  /** the id of a fact, or an object version; undefined: the cause stays */
  readonly causedBy?: string | undefined;
  /** `default/web` */
  readonly pod?: string | undefined;
}

/** The factor by which a text can be longer before it is masked. */
const UNMASKED_TIMES = 4;

/** The lowest level at which causes are followed across queues and servers. Below it, the terminal shows no causes. */
export const CAUSES_LEVEL: Level = 3;

/** Default level by kind of event. */
export const LEVELS: Readonly<Record<Fact["kind"], Level>> = {
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
  watch: 3,
  story: 4,
};

/**
 * Collects events, stamps them, and passes them to the sinks at once, in order.
 *
 * The cause follows the asynchronous context: everything inside `step(...)`, even a request three calls deeper, has that step as
 * its cause. No step object is passed around. Queues keep the scope of their items (`currentScope`), and servers learn the cause
 * from their client (`traceparent`).
 */
export class Trace {
  readonly #sinks: TraceSink[] = [];
  /** The number of a fact as a step of the command's story, for terminals: see `numberSteps`. */
  numberOf?: (event: TraceEvent) => number | undefined;
  readonly #prefix = randomBytes(4).toString("hex");
  /** by version: the fact since when nothing followed that version */
  readonly #silences = new Map<string, string>();
  #nextSeq = 1;
  #nextId = 1;

  /**
   * @param clock stamps the events
   * @param wantsBodies whether request events carry (redacted) bodies: true under `-v 4` and for trace files
   * @param secrets the values that every event is searched for
   */
  constructor(
    readonly clock: Clock,
    readonly wantsBodies = false,
    readonly secrets = new Secrets(),
  ) {}

  addSink(sink: TraceSink): void {
    this.#sinks.push(sink);
  }

  /** Ends what `addSink` began; the sink stays open. */
  removeSink(sink: TraceSink): void {
    const index = this.#sinks.indexOf(sink);
    if (index >= 0) this.#sinks.splice(index, 1);
  }

  /** Whether any sink keeps events of this level. Check it before making an expensive event. */
  wants(level: Level): boolean {
    for (const sink of this.#sinks) if ((sink.level ?? 4) >= level) return true;
    return false;
  }

  /** Whether any sink keeps causes that pass between actors. */
  get wantsCauses(): boolean {
    return this.wants(CAUSES_LEVEL);
  }

  /** What caused the running code, for events that are reported later from a callback without a scope. */
  get cause(): string | undefined {
    return currentScope()?.causedBy;
  }

  /** Nothing follows a version of an object any more. What acts on that absence has the fact as its cause: see `silenceAfter`. */
  silences(version: string, fact: string): void {
    this.#silences.set(version, fact);
  }

  /** The fact that ended what followed a version. @returns the version itself if no fact did */
  silenceAfter(version: string): string {
    return this.#silences.get(version) ?? version;
  }

  /** The id of an event that is reported later, so that its effects can already name it. */
  newId(): string {
    return this.#prefix + (this.#nextId++ >>> 0).toString(16).padStart(8, "0");
  }

  /** @returns the stamped event; a later event can use its `id` as `causedBy` */
  emit(fact: Fact, options: EmitOptions): TraceEvent {
    const { chapter, pod, causedBy: cause, origin }: Scope = currentScope() ?? {};
    const { follows } = options;
    const causedBy = options.causedBy ?? cause ?? follows;
    const level = options.level ?? LEVELS[fact.kind];
    const event: TraceEvent = {
      seq: this.#nextSeq++,
      id: options.id ?? this.newId(),
      atMs: this.clock.now(),
      actor: options.actor,
      level,
      ...(options.instance === undefined ? {} : { instance: options.instance }),
      ...(options.every === undefined ? {} : { every: options.every }),
      ...(chapter === undefined ? {} : { chapter }),
      ...(pod === undefined ? {} : { pod }),
      ...defined({ causedBy, origin: causedBy === follows ? origin : undefined, peer: options.peer }),
      // Sinks drop an event above their levels, so it needs no masking.
      ...(this.wants(level) ? this.#shown(fact) : fact),
    };
    this.#write(event);
    return event;
  }

  /** Reports an event of another process; it keeps its id, time and cause. */
  relay(event: TraceEvent): void {
    const { seq: _seq, ...rest } = event;
    this.#write(this.#shown({ ...rest, seq: this.#nextSeq++ }));
  }

  /** Masks secrets and bounds the length of texts, because clients choose the paths of requests. */
  #shown<T>(fact: T): T {
    // Mask first: a cut would leave the first half of a secret.
    return bounded(this.secrets.maskAll(bounded(fact, UNMASKED_TIMES)));
  }

  #write(event: TraceEvent): void {
    for (const sink of this.#sinks) sink.write(event);
  }

  /**
   * Reports a step and runs `body` inside it: everything reported there has this step as its cause. Without sinks it
   * only calls `body`, for the reason given at `detached`.
   */
  step<T>(actor: Actor, title: string, options: Omit<StepFact, "kind" | "title">, body: () => T): T {
    if (!this.wants(LEVELS.step)) return body();
    const { sequence, causedBy } = currentScope() ?? {};
    const follows = causedBy === undefined ? sequence?.last : undefined;
    const { id } = this.emit({ kind: "step", title, ...options }, { actor, ...defined({ follows }) });
    if (sequence !== undefined && causedBy === undefined) sequence.last = id;
    return this.#run({ causedBy: id }, body);
  }

  /** Runs a command whose steps follow one another: each has the one before as its cause. */
  sequence<T>(body: () => T): T {
    if (!this.wantsCauses || currentScope()?.sequence !== undefined) return body();
    return this.#run({ sequence: { last: undefined } }, body);
  }

  /** Runs a command's `body`; events reported inside get its name. Without sinks it only calls `body`. */
  chapter<T>(name: string, body: () => T): T {
    if (!this.wants(0)) return body();
    return this.#run({ chapter: name, origin: "command" }, body);
  }

  /** Runs `body` with a given cause, or for a pod. If no sink keeps causes it only calls `body`, for the reason given at `detached`. */
  because<T>({ causedBy, pod }: Cause, body: () => T): T {
    if (!this.wantsCauses || (causedBy === undefined && pod === undefined)) return body();
    return this.#run(defined({ causedBy, pod }), body);
  }

  /** Runs `body` as the beginning of a chain, without an earlier cause. If no sink keeps causes, it does what `because` does. */
  origin<T>(origin: Origin, body: () => T): T {
    if (!this.wantsCauses) return body();
    const { chapter, pod } = currentScope() ?? {};
    return runInScope({ ...defined({ chapter, pod }), origin }, body);
  }

  /**
   * The scope of the running code, to be spread into an item of a queue. The reader of the queue continues with
   * `runInScope`. Empty if no sink keeps causes.
   * @param change replaces the cause and the pod of the scope
   */
  keepScope({ causedBy, pod }: Pick<Scope, "causedBy" | "pod"> = {}): { readonly scope?: Scope } {
    return this.wantsCauses ? { scope: { ...currentScope(), ...defined({ causedBy, pod }) } } : {};
  }

  #run<T>(change: Scope, body: () => T): T {
    return runInScope({ ...currentScope(), ...change }, body);
  }

  /**
   * Runs `body` outside any step, for background loops that outlive the step that started them. Outside any scope it
   * only calls `body`: the first use of the asynchronous context makes every promise of the process slower (on Node 20
   * about twice), and a control plane that serves no chapter does not need it.
   */
  detached<T>(body: () => T, origin: Origin = "timer"): T {
    const scope = currentScope();
    if (scope === undefined) return this.origin(origin, body);
    return runInScope({ ...defined({ chapter: scope.chapter }), origin }, body);
  }

  async close(): Promise<void> {
    for (const sink of this.#sinks) await sink.close?.();
  }
}
