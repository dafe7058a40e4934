import type { Clock } from "../util/clock.js";
import { defined } from "../util/defined.js";
import type { TraceEvent } from "./events.js";
import type { TraceSink } from "./trace.js";

/**
 * Passes the facts on with the times of another clock, so that those of a command with a clock of its own stand beside those of
 * the cluster that it belongs to.
 * @param from the clock of the facts
 */
export function onClock(sink: TraceSink, from: Clock, to: Clock): TraceSink {
  if (from === to) return sink;
  const { level, wantsBodies } = sink;
  return {
    ...defined({ level, wantsBodies }),
    write: (event) => sink.write(movedTo(event, from, to)),
    close: async () => await sink.close?.(),
  };
}

/** A fact has just happened: how long ago is all that must be converted. */
function movedTo(event: TraceEvent, from: Clock, to: Clock): TraceEvent {
  const ratio = (to.speed ?? 1) / (from.speed ?? 1);
  const atMs = Math.round(to.now() - (from.now() - event.atMs) * ratio);
  if (event.kind !== "request" && event.kind !== "rpc") return { ...event, atMs };
  return { ...event, atMs, durationMs: event.durationMs * ratio };
}
