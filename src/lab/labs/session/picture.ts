import { join } from "node:path";
import type { TraceEvent } from "../../../trace/events.js";
import { TraceGraph } from "../../../trace/graph/graph.js";
import type { LabContext } from "../environment/context.js";
import { makeLearnFolder } from "../progress/progress-store.js";

/** The facts of a step, and what caused them before it began. */
export interface Picture {
  /** its id */
  readonly step: string;
  readonly facts: readonly TraceEvent[];
}

/**
 * Facts with the facts that caused them.
 * @param all the facts of the lab
 */
export function withCauses(facts: readonly TraceEvent[], all: readonly TraceEvent[]): readonly TraceEvent[] {
  const graph = TraceGraph.of(all);
  const kept = new Set(facts);
  for (const fact of facts) {
    let cause = graph.causeOf(fact);
    for (; cause !== undefined && !kept.has(cause); cause = graph.causeOf(cause)) kept.add(cause);
  }
  return all.filter((one) => kept.has(one));
}

/**
 * Writes the picture of a step into the learner's state folder.
 * @param lab its id
 * @returns its path
 * @throws LabError BAD_FILE
 */
export async function writePicture(
  { context, writePage }: LabContext,
  lab: string,
  { step, facts }: Picture,
): Promise<string> {
  const path = join(await makeLearnFolder(context.env), `${lab}-${step}.html`);
  await writePage(path, facts);
  return path;
}
