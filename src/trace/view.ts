import { defined } from "../util/defined.js";
import type { Actor, Fact, TraceEvent } from "./events.js";
import { type EmitOptions, LEVELS, type Level, Trace, type TraceSink } from "./trace.js";

/** How one part of a program is shown. */
export interface ViewOptions {
  /** Whether the view would show anything of this level. */
  wants(level: Level): boolean;
  /** The level at which the view shows a fact. */
  levelOf(fact: Fact, level: Level, options: EmitOptions): Level;
  /** the node whose kubelet and runtime report the facts, or the name of the controller that does */
  readonly instance?: string;
}

/** A trace that shows its facts at other levels, or with an instance, than the trace below it, which keeps all of them. */
export class TraceView extends Trace {
  readonly #instance: { readonly instance?: string };

  constructor(
    readonly base: Trace,
    readonly options: ViewOptions,
  ) {
    super(base.clock, base.wantsBodies, base.secrets);
    this.#instance = defined({ instance: options.instance });
  }

  override addSink(sink: TraceSink): void {
    this.base.addSink(sink);
  }

  override wants(level: Level): boolean {
    return this.options.wants(level);
  }

  override newId(): string {
    return this.base.newId();
  }

  override silences(version: string, fact: string): void {
    this.base.silences(version, fact);
  }

  override silenceAfter(version: string): string {
    return this.base.silenceAfter(version);
  }

  override emit(fact: Fact, options: EmitOptions): TraceEvent {
    // Without a sink, the view has no effect.
    if (!this.base.wants(0)) return this.base.emit(fact, options);
    const id = options.id ?? this.newId();
    const level = this.options.levelOf(fact, options.level ?? LEVELS[fact.kind], { ...options, id });
    const instance = hasInstance(options.actor) ? this.#instance : undefined;
    return this.base.emit(fact, { ...instance, ...options, id, level });
  }

  override relay(event: TraceEvent): void {
    const level = event.level as Level;
    this.base.relay({ ...this.#instance, ...event, level: this.options.levelOf(event, level, { ...event, level }) });
  }

  override async close(): Promise<void> {
    await this.base.close();
  }
}

/**
 * A view that shows events at verbosity `atLeast` or above; errors keep their level. For events that are frequent, or not part
 * of the main story.
 */
export function quieterTrace(trace: Trace, atLeast: Level): Trace {
  return new TraceView(trace, {
    wants: (level) => trace.wants(level > atLeast ? level : atLeast),
    levelOf: (fact, level) => (fact.kind === "error" || level > atLeast ? level : atLeast),
  });
}

/** A node has its own kubelet and runtime. The administrator who joins it belongs to no node. Controllers share one actor. */
function hasInstance(actor: Actor): boolean {
  return ["kubelet", "proxy", "runtime", "controller"].includes(actor);
}

/** A view in which the facts of a controller have its name. */
export function traceOfController(trace: Trace, name: string): Trace {
  return withInstance(trace, name);
}

function withInstance(trace: Trace, instance: string): Trace {
  return new TraceView(trace, {
    instance,
    wants: (level) => trace.wants(level),
    levelOf: (_fact, level) => level,
  });
}

/** A view in which the facts of kubelet and runtime name their node. */
export function traceOfNode(trace: Trace, nodeName: string): Trace {
  if (trace instanceof TraceView && trace.options.instance === nodeName) return trace;
  return withInstance(trace, nodeName);
}
