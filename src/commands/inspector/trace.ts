import type { Fact } from "../../trace/events.js";
import type { Level, Trace } from "../../trace/trace.js";
import { TraceView } from "../../trace/view.js";

/** The -v level that shows a fact in an inspector; undefined: not this inspector's topic, shown from -v 2. */
export type LevelInInspector = (fact: Fact, level: Level) => Level | undefined;

/** The level of facts outside the inspector's topic. */
const OTHER = 2;

/**
 * The trace of a kubelet as one inspector shows it: its topic first, and the rest from -v 2. Errors are always shown.
 */
export function inspectorTrace(trace: Trace, levelOf: LevelInInspector): Trace {
  return new TraceView(trace, {
    wants: (level) => level <= OTHER || trace.wants(level),
    levelOf: (fact, level) => levelOf(fact, level) ?? (fact.kind === "error" || level > OTHER ? level : OTHER),
  });
}

/** The upstream file that a fact names, or "". */
export function fileOf(fact: Fact): string {
  return "upstream" in fact ? (fact.upstream?.file ?? "") : "";
}
