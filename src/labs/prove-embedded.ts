import { LabError } from "../util/errors.js";
import type { LabProcess } from "./context.js";
import { openEmbeddedEnvironment } from "./embedded-environment.js";
import type { Lab } from "./lab.js";
import { type Proof, proveLab } from "./prove.js";

const COLUMNS = 80;
/** A proof runs many labs at once, on fast clocks. */
const PATIENCE_MS = 15_000;

/** A processor that is asked for more than this by others has little left for fast clocks. */
const BUSY_LOAD = 2;

/**
 * How many labs to prove at once: they wait for clocks more than they compute, but one that has too little of the machine misses
 * its deadlines on a fast clock.
 * @param load how many processes have wanted to run in the last minute
 */
export function labsAtOnce(load: number, processors: number): number {
  return load / processors > BUSY_LOAD ? 3 : 5;
}

/** Proves one lab on a cluster of its own, at the speed that the lab says. */
export async function proveOnEmbedded(
  lab: Lab,
  context: LabProcess,
  seed: number,
  options: { readonly withoutKubectl?: boolean } = {},
): Promise<Proof> {
  const { id, proofSpeed } = lab.definition;
  try {
    await using environment = await openEmbeddedEnvironment(context, {
      clusterName: id,
      speed: proofSpeed,
      definition: lab.definition,
      columns: COLUMNS,
      isColoured: false,
      language: "en",
      patienceMs: PATIENCE_MS,
      ...options,
    });
    return await proveLab(lab, environment, { language: "en", seed }, context.signal);
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return { lab: id, steps: lab.definition.steps.length, problems: [`its cluster does not start: ${error.message}`] };
  }
}
