import type { Fact } from "../../trace/events.js";
import { type Level, Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";

/** From which -v on a fact is shown in an inspector; undefined: it is beside its story, and shown under -v 2 and more. */
export type LevelInInspector = (fact: Fact, level: Level) => Level | undefined;

const BESIDE = 2;

/**
 * The trace of a whole kubelet as one inspector shows it: what its story is about, and under -v 2 the rest. Errors are always
 * told.
 */
export function inspectorTrace(trace: Trace, clock: Clock, levelOf: LevelInInspector): Trace {
  const inner = new Trace(clock, trace.wantsBodies);
  inner.addSink({
    get level(): Level {
      return trace.wants(4) ? 4 : trace.wants(3) ? 3 : BESIDE;
    },
    write({ seq: _seq, atMs: _atMs, causedBy: _causedBy, chapter: _chapter, actor, level, ...fact }) {
      const own = levelOf(fact as Fact, level as Level);
      const beside = fact.kind === "error" ? level : Math.max(level, BESIDE);
      trace.emit(fact as Fact, { actor, level: own ?? (beside as Level) });
    },
  });
  return inner;
}

/** The upstream file that a fact names; empty: it names none. */
export function fileOf(fact: Fact): string {
  return "upstream" in fact ? (fact.upstream?.file ?? "") : "";
}
