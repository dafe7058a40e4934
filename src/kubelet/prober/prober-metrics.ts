import type { V1Container, V1Pod } from "../../apimachinery/api/pod.js";
import type { ProbeResult } from "../kuberuntime/runtime-helper.js";
import type { ProbeType } from "./spec.js";

/** Mirrors probeType.String. */
const TYPES: Readonly<Record<ProbeType, string>> = {
  liveness: "Liveness",
  readiness: "Readiness",
  startup: "Startup",
};
/** Mirrors probeResultSuccessful and its neighbours. */
const RESULTS: Readonly<Record<ProbeResult, string>> = { success: "successful", failure: "failed", unknown: "unknown" };

const NAME = "prober_probe_total";
const HELP = "Cumulative number of a liveness, readiness or startup probe for a container by result.";

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
  /** labels -> result -> probes */
  readonly #counts = new Map<string, Map<ProbeResult, number>>();

  count(probe: ProbeOfWorker, result: ProbeResult): void {
    const key = keyOf(probe);
    const counts = this.#counts.get(key) ?? new Map<ProbeResult, number>();
    this.#counts.set(key, counts);
    counts.set(result, (counts.get(result) ?? 0) + 1);
  }

  /** The worker has ended. */
  forget(probe: ProbeOfWorker): void {
    this.#counts.delete(keyOf(probe));
  }

  /** Prometheus' text format; empty before the first probe. */
  text(): string {
    const lines = [...this.#counts].flatMap(([labels, counts]) =>
      [...counts].map(([result, count]) => `${NAME}{${labels},result="${RESULTS[result]}"} ${count}\n`),
    );
    return lines.length === 0 ? "" : `# HELP ${NAME} [ALPHA] ${HELP}\n# TYPE ${NAME} counter\n${lines.sort().join("")}`;
  }
}

/** The labels in the order of their names; `result` follows. */
function keyOf({ type, pod, container }: ProbeOfWorker): string {
  const { namespace, name, uid } = pod.metadata;
  const labels = { container: container.name, namespace, pod: name, pod_uid: uid, probe_type: TYPES[type] };
  return Object.entries(labels)
    .map(([label, text]) => `${label}="${text}"`)
    .join(",");
}
