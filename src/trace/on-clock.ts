import type { Clock } from "../util/clock.js";
import { defined } from "../util/defined.js";
import type { TraceEvent } from "./events.js";
import type { TraceSink } from "./trace.js";

/**
 * Passes facts on with the times of another clock, so that facts of a command with its own clock align with those of its cluster.
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

/** A fact has just happened, so only its short age must be converted. */
function movedTo(event: TraceEvent, from: Clock, to: Clock): TraceEvent {
  const ratio = (to.speed ?? 1) / (from.speed ?? 1);
  const atMs = Math.round(to.now() - (from.now() - event.atMs) * ratio);
  if (event.kind !== "request" && event.kind !== "rpc") return { ...event, atMs };
  return { ...event, atMs, durationMs: event.durationMs * ratio };
}
