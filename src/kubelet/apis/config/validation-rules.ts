import { factFor } from "../../../util/release/facts.js";
import type { KubeletConfiguration } from "./defaults.js";
import { isGateEnabled } from "./feature-gates.js";

/** How upstream's messages begin. */
export const INVALID = "invalid configuration:";

/** The feature gates that validation asks for. */
type Gate =
  | "CPUCFSQuotaPeriod"
  | "RotateKubeletServerCertificate"
  | "GracefulNodeShutdown"
  | "GracefulNodeShutdownBasedOnPodPriority"
  | "NodeSwap"
  | "KubeletTracing"
  | "MemoryQoS"
  | "TopologyManager";

/** What is on unless `featureGates` says otherwise. Mirrors pkg/features/kube_features.go. */
function defaultGates(kubeVersion: string): Readonly<Record<Gate, boolean>> {
  return {
    CPUCFSQuotaPeriod: false,
    RotateKubeletServerCertificate: true,
    GracefulNodeShutdown: true,
    GracefulNodeShutdownBasedOnPodPriority: true,
    NodeSwap: factFor("nodeSwap", kubeVersion),
    KubeletTracing: factFor("kubeletTracing", kubeVersion),
    MemoryQoS: false,
    TopologyManager: true,
  };
}

/** The name of a gate in `featureGates`, where it is another one. */
const GATE_NAMES: Readonly<Partial<Record<Gate, string>>> = { CPUCFSQuotaPeriod: "CustomCPUCFSQuotaPeriod" };

/** What a check of a configuration works with. */
export interface Rules {
  readonly kc: KubeletConfiguration;
  readonly enabled: (gate: Gate) => boolean;
  /** Reports a problem if the condition holds. */
  readonly when: (isWrong: boolean, problem: string) => void;
}

/** @param report called with each problem */
export function rulesFor(kc: KubeletConfiguration, kubeVersion: string, report: (problem: string) => void): Rules {
  const gates = defaultGates(kubeVersion);
  return {
    kc,
    enabled: (gate) => isGateEnabled(kc.featureGates ?? {}, GATE_NAMES[gate] ?? gate, gates[gate]),
    when: (isWrong, problem) => {
      if (isWrong) report(problem);
    },
  };
}

/** Whether a number is beyond its bounds, which are allowed. */
export function isOutside(value: number, least: number, most: number): boolean {
  return value < least || value > most;
}
