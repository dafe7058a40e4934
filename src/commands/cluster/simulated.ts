import { resolve } from "node:path";
import type { ClusterOptions, SimulatedNodes } from "../../testbed/cluster/cluster.js";
import { LabError } from "../../util/errors.js";

/** The flags of nodes without containers. */
export interface SimulationFlags {
  readonly simulated?: boolean;
  /** a file */
  readonly stages?: string;
}

/** A node with a runtime is a process; a simulated one is an object. */
export const MAX_NODES = 100;
export const MAX_SIMULATED_NODES = 5_000;

/**
 * Reads the stages of simulated nodes.
 * @param nodes 0 with `disk`: the cluster's existing ones
 * @returns undefined without --simulated
 * @throws LabError USAGE for contradicting flags; BAD_FILE for a file without stages
 */
export async function simulatedNodes({
  simulated,
  stages,
  nodes,
  systemPods,
  disk,
}: SimulationFlags & Pick<ClusterOptions, "nodes" | "systemPods" | "disk">): Promise<SimulatedNodes | undefined> {
  if (simulated !== true) {
    if (stages !== undefined) throw new LabError("USAGE", "--stages needs --simulated", "Other nodes run containers.");
    if (nodes <= MAX_NODES) return undefined;
    const message = `--nodes ${nodes} is more than ${MAX_NODES}, the limit of nodes that run containers`;
    throw new LabError("USAGE", message, `With --simulated, up to ${MAX_SIMULATED_NODES} have none.`);
  }
  if (nodes === 0 && disk === undefined)
    throw new LabError("USAGE", "--simulated needs --nodes", "For example --nodes 1000 --simulated.");
  if (systemPods === true) {
    throw new LabError("USAGE", "--with-system-pods needs nodes that run containers", "Leave out --simulated.");
  }
  if (stages === undefined) return { stages: [] };
  const [{ parseStages }, { readIfThere }] = await Promise.all([
    import("../../testbed/simulated/parse-stages.js"),
    import("../../util/os/files.js"),
  ]);
  const text = await readIfThere(stages);
  if (text === undefined)
    throw new LabError("BAD_FILE", `cannot read ${stages}: no such file or folder`, "Check --stages.");
  return { stages: parseStages(text, stages) };
}

/** The flags that give a child process the same options. */
export function simulationFlags({ simulated, stages }: SimulationFlags): string[] {
  return [
    ...(simulated === true ? ["--simulated"] : []),
    ...(stages === undefined ? [] : ["--stages", resolve(stages)]),
  ];
}
