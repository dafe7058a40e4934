import { numberSteps } from "../../trace/story/numbers.js";
import { HOPS_RULE } from "../../trace/story/rules.js";
import { tellStory } from "../../trace/story/teller.js";
import type { Trace } from "../../trace/trace.js";

/** Tells a connection's story in its trace, and numbers its hops in the terminal, until it is disposed. */
export function tellHops(trace: Trace): Disposable {
  numberSteps(trace, HOPS_RULE, true);
  return tellStory(trace, HOPS_RULE);
}
