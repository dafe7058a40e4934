import type { Clock } from "../util/clock.js";
import type { Fact } from "./events.js";
import { type Level, Trace } from "./trace.js";

/**
 * A trace whose facts reach `trace` under `-v atLeast` only, and errors as they are: for what happens often, or beside the
 * story that is told.
 */
export function quieterTrace(trace: Trace, clock: Clock, atLeast: Level): Trace {
  const quiet = new Trace(clock, trace.wantsBodies);
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
