import type { Fact } from "../../trace/events.js";
import { type Level, Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";

/** The -v level that shows a fact in an inspector; undefined: not this inspector's topic, shown from -v 2. */
export type LevelInInspector = (fact: Fact, level: Level) => Level | undefined;

/** For facts that are not the inspector's topic. */
const OTHER = 2;

/**
 * The trace of a kubelet as one inspector shows it: its topic first, and the rest from -v 2. Errors are always shown.
 */
export function inspectorTrace(trace: Trace, clock: Clock, levelOf: LevelInInspector): Trace {
  const inner = new Trace(clock, trace.wantsBodies, trace.secrets);
  inner.addSink({
    get level(): Level {
      return trace.wants(4) ? 4 : trace.wants(3) ? 3 : OTHER;
    },
    write({ seq: _seq, atMs: _atMs, causedBy: _causedBy, chapter: _chapter, actor, level, ...fact }) {
      const own = levelOf(fact as Fact, level as Level);
      const other = fact.kind === "error" ? level : Math.max(level, OTHER);
      trace.emit(fact as Fact, { actor, level: own ?? (other as Level) });
    },
  });
  return inner;
}

/** The upstream file that a fact names, or "". */
export function fileOf(fact: Fact): string {
  return "upstream" in fact ? (fact.upstream?.file ?? "") : "";
}
