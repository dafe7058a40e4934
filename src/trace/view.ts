import type { Fact, TraceEvent } from "./events.js";
import { type EmitOptions, LEVELS, type Level, Trace, type TraceSink } from "./trace.js";

/** How one part of a program is shown. */
export interface ViewOptions {
  /** Whether the view would show anything of this level. */
  wants(level: Level): boolean;
  /** The level at which the view shows a fact. */
  levelOf(fact: Fact, level: Level, options: EmitOptions): Level;
}

/** A trace that shows its facts at other levels than the trace below it, which keeps all of them. */
export class TraceView extends Trace {
  constructor(
    readonly base: Trace,
    readonly options: ViewOptions,
  ) {
    super(base.clock, base.wantsBodies, base.secrets);
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

  override emit(fact: Fact, options: EmitOptions): TraceEvent {
    const id = options.id ?? this.newId();
    const level = this.options.levelOf(fact, options.level ?? LEVELS[fact.kind], { ...options, id });
    return this.base.emit(fact, { ...options, id, level });
  }

  override relay(event: TraceEvent): void {
    const level = event.level as Level;
    this.base.relay({ ...event, level: this.options.levelOf(event, level, { ...event, level }) });
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
