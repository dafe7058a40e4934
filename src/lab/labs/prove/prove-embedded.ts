import { defined } from "../../../util/defined.js";
import { LabError } from "../../../util/errors.js";
import type { LabProcess } from "../environment/context.js";
import { openEmbeddedEnvironment } from "../environment/embedded-environment.js";
import type { Lab } from "../format/lab.js";
import { type Proof, type ProofOptions, proveLab } from "./prove.js";

/** The narrowest terminal for labs, because patterns must not depend on line breaks. */
const COLUMNS = 60;
/** Proofs run many labs at once, on fast clocks. */
const PATIENCE_MS = 15_000;

/** A processor with a higher load from other programs has little time left for fast clocks. */
const BUSY_LOAD = 2;

/**
 * The number of labs to prove at once. Labs mostly wait for clocks, but a lab with too little processor time misses its
 * deadlines on a fast clock.
 * @param load the average number of runnable processes in the last minute
 */
export function labsAtOnce(load: number, processors: number): number {
  return load / processors > BUSY_LOAD ? 3 : 5;
}

/** Proves one lab on a new cluster, at the speed that the lab specifies. */
export async function proveOnEmbedded(
  lab: Lab,
  context: LabProcess,
  seed: number,
  {
    onMessage,
    onText,
    ...options
  }: { readonly withoutKubectl?: boolean } & Pick<ProofOptions, "onMessage" | "onText"> = {},
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
    return await proveLab(
      lab,
      environment,
      { language: "en", seed, ...defined({ onMessage, onText }) },
      context.signal,
    );
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return { lab: id, steps: lab.definition.steps.length, problems: [`its cluster does not start: ${error.message}`] };
  }
}
