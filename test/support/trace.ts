import type { TraceEvent } from "../../src/trace/events.js";
import { Trace } from "../../src/trace/trace.js";
import type { Clock } from "../../src/util/clock.js";

/** A trace that keeps its events. */
export function recordingTrace(
  clock: Clock,
  wantsBodies = false,
): { readonly trace: Trace; readonly events: TraceEvent[] } {
  const events: TraceEvent[] = [];
  const trace = new Trace(clock, wantsBodies);
  trace.addSink({ write: (event) => events.push(event) });
  return { trace, events };
}

/** The events of one kind. */
export function only<K extends TraceEvent["kind"]>(events: readonly TraceEvent[], kind: K) {
  return events.filter((event): event is Extract<TraceEvent, { kind: K }> => event.kind === kind);
}
