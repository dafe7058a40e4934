import type { V1Container, V1Pod } from "../../apimachinery/api/pod.js";
import type { ProbeResult } from "../kuberuntime/runtime-helper.js";
import { familyText } from "../metrics/text-format.js";
import type { ProbeType } from "./spec.js";

/** Mirrors probeType.String. */
const TYPES: Readonly<Record<ProbeType, string>> = {
  liveness: "Liveness",
  readiness: "Readiness",
  startup: "Startup",
};
/** Mirrors probeResultSuccessful and its neighbours. */
const RESULTS: Readonly<Record<ProbeResult, string>> = { success: "successful", failure: "failed", unknown: "unknown" };

const PROBES = {
  name: "prober_probe_total",
  help: "Cumulative number of a liveness, readiness or startup probe for a container by result.",
  type: "counter",
} as const;

/** The probe that a worker runs. */
export interface ProbeOfWorker {
  readonly type: ProbeType;
  readonly pod: V1Pod;
  readonly container: V1Container;
}

/**
 * Counts probes by their results, for /metrics/probes. A pod's counts go with its workers.
 *
 * Mirrors ProberResults in pkg/kubelet/prober/prober_manager.go. Differs: no histogram of the probes' durations.
 */
export class ProberMetrics {
  readonly #counts = new Map<string, { readonly labels: Labels; readonly results: Map<ProbeResult, number> }>();

  count(probe: ProbeOfWorker, result: ProbeResult): void {
    const labels = labelsOf(probe);
    const key = keyOf(labels);
    const counts = this.#counts.get(key) ?? { labels, results: new Map<ProbeResult, number>() };
    this.#counts.set(key, counts);
    counts.results.set(result, (counts.results.get(result) ?? 0) + 1);
  }

  /** The worker has ended. */
  forget(probe: ProbeOfWorker): void {
    this.#counts.delete(keyOf(labelsOf(probe)));
  }

  /** Prometheus' text format; empty before the first probe. */
  text(): string {
    const samples = [...this.#counts.values()].flatMap(({ labels, results }) =>
      [...results].map(([result, value]) => ({ labels: { ...labels, result: RESULTS[result] }, value })),
    );
    return familyText(PROBES, samples);
  }
}

type Labels = Readonly<Record<string, string>>;

/** In the order of their names; `result` follows. */
function labelsOf({ type, pod, container }: ProbeOfWorker): Labels {
  const { namespace, name, uid } = pod.metadata;
  return { container: container.name, namespace, pod: name, pod_uid: uid, probe_type: TYPES[type] };
}

function keyOf(labels: Labels): string {
  return Object.values(labels).join("/");
}
