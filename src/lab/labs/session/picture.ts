import { join } from "node:path";
import type { TraceEvent } from "../../../trace/events.js";
import { TraceGraph } from "../../../trace/graph/graph.js";
import type { LabContext } from "../environment/context.js";
import { commandsOf } from "../format/commands.js";
import type { LabDefinition } from "../format/schema.js";
import { checkOf } from "../format/steps.js";
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

/** Facts without those that `hidesChecks` leaves out. Pure. */
export function withoutChecks(
  facts: readonly TraceEvent[],
  definition: Pick<LabDefinition, "steps">,
): readonly TraceEvent[] {
  return facts.filter(hidesChecks(definition));
}

/**
 * Decides fact by fact, in their order, which ones a learner can see: not the commands of a lab's checks, which can contain the answer, and
 * not what these caused.
 */
export function hidesChecks({ steps }: Pick<LabDefinition, "steps">): (fact: TraceEvent) => boolean {
  const checks = steps.map((step) => ("predict" in step ? step.outcomes : checkOf(step)));
  const titles = new Set(commandsOf(checks).map((line) => `$ ${line}`));
  const hidden = new Set<string>();
  return (fact) => {
    const isHidden = (fact.kind === "step" && titles.has(fact.title)) || hidden.has(fact.causedBy ?? "");
    if (isHidden) hidden.add(fact.id);
    return !isHidden;
  };
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
