import type { Clock } from "../util/clock.js";
import type { Fact } from "./events.js";
import { type Level, Trace } from "./trace.js";

/**
 * A trace that forwards events at verbosity `atLeast` or above; errors keep their level. For events that are frequent,
 * or not part of the main story.
 */
export function quieterTrace(trace: Trace, clock: Clock, atLeast: Level): Trace {
  const quiet = new Trace(clock, trace.wantsBodies, trace.secrets);
  quiet.addSink({
    get level(): Level {
      return trace.wants(atLeast) ? 4 : 0;
    },
    write({ seq: _seq, atMs: _atMs, causedBy: _causedBy, chapter: _chapter, actor, level, ...fact }) {
      const quietLevel = (fact.kind === "error" ? level : Math.max(level, atLeast)) as Level;
      trace.emit(fact as Fact, { actor, level: quietLevel });
    },
  });
  return quiet;
}
