import type { CliContext } from "../../cli/context.js";
import type { Lab } from "../../labs/lab.js";
import { type Proof, proveLab } from "../../labs/prove.js";
import { openEmbeddedPlace } from "./embedded-place.js";

const COLUMNS = 80;
/** A proof runs many labs at once, on fast clocks. */
const PATIENCE_MS = 15_000;

/** Proves one lab on a cluster of its own, at the speed that the lab says. */
export async function proveOnEmbedded(lab: Lab, context: CliContext, seed: number): Promise<Proof> {
  const { id, proofSpeed } = lab.definition;
  await using place = await openEmbeddedPlace(context, {
    clusterName: id,
    speed: proofSpeed,
    definition: lab.definition,
    columns: COLUMNS,
    isColoured: false,
    patienceMs: PATIENCE_MS,
  });
  return await proveLab(lab, place, { language: "en", seed }, context.signal);
}
