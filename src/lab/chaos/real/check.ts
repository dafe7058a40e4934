import { LabError } from "../../../util/errors.js";
import type { Scenario } from "../scenario.js";

/** The real parts that a scenario is played on. */
export interface RealParts {
  /** the endpoint of a container runtime; undefined: the embedded one */
  readonly cri?: string;
}

/** Faults that the embedded runtime alone can have. */
const EMBEDDED_RUNTIME = ["disk-full", "pod-network-fault", "dns-fault"];
const NOT_ON_REAL_KILLS = ["exitCode", "signal", "oom"];

/** @throws LabError USAGE for the first part of a scenario that these parts cannot play */
export function checkForReal({ nodes, do: faults, invariants }: Scenario, { cri }: RealParts): void {
  if (cri === undefined) return;
  const refuse = (what: string) => {
    throw new LabError(
      "USAGE",
      `${what}, and --cri names a real one`,
      "Leave it out, or run the scenario without --cri.",
    );
  };
  if (nodes > 1) refuse(`${nodes} nodes need a container runtime each`);
  if (invariants.length > 0) refuse("invariants look into the embedded runtime");
  for (const { fault, with: args } of faults) {
    if (EMBEDDED_RUNTIME.includes(fault)) refuse(`${fault} is for the embedded runtime`);
    const exact = fault === "kill-container" && NOT_ON_REAL_KILLS.find((key) => args[key] !== undefined);
    if (exact) refuse(`${exact} of kill-container is for the embedded runtime`);
  }
}
