import { LabError } from "../../../util/errors.js";
import type { Scenario } from "../scenario.js";
import type { ForeignCluster } from "./foreign-cluster.js";

/** The real parts that a scenario is played on. */
export interface RealParts {
  /** the endpoint of a container runtime; undefined: the embedded one */
  readonly cri?: string;
  /** the cluster with the API server; undefined: the embedded one */
  readonly cluster?: ForeignCluster;
}

/** Faults that the embedded runtime alone can have. */
const EMBEDDED_RUNTIME = ["disk-full", "pod-network-fault", "dns-fault"];
const NOT_ON_REAL_KILLS = ["exitCode", "signal", "oom"];
/** Faults that the embedded API server alone can have: a proxy sees neither its storage and its process, nor streams that others open. */
const EMBEDDED_SERVER = ["slow-storage", "apiserver-restart", "stream-cut", "stream-stall", "dns-fault"];

/** @throws LabError USAGE for the first part of a scenario that a real container runtime cannot play */
export function checkForRuntime({ nodes, do: faults, invariants }: Scenario): void {
  const refuse = refusal("--cri");
  if (nodes > 1) refuse(`${nodes} nodes need a container runtime each`);
  if (invariants.length > 0) refuse("invariants look into the embedded runtime");
  for (const { fault, with: args } of faults) {
    if (EMBEDDED_RUNTIME.includes(fault)) refuse(`${fault} is for the embedded runtime`);
    const exact = fault === "kill-container" && NOT_ON_REAL_KILLS.find((key) => args[key] !== undefined);
    if (exact) refuse(`${exact} of kill-container is for the embedded runtime`);
  }
}

/** @throws LabError USAGE for the first part of a scenario that a foreign API server cannot play */
export function checkForCluster({ do: faults, invariants }: Scenario): void {
  const refuse = refusal("--kubeconfig");
  if (invariants.length > 0) refuse("invariants look into the embedded API server");
  for (const { fault } of faults) {
    if (EMBEDDED_SERVER.includes(fault)) refuse(`${fault} is for the embedded API server`);
  }
}

function refusal(flag: string): (what: string) => never {
  return (what) => {
    throw new LabError(
      "USAGE",
      `${what}, and ${flag} names a real one`,
      `Leave it out, or run the scenario without ${flag}.`,
    );
  };
}
