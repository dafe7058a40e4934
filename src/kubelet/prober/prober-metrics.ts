import { POD_TEMPLATE_HASH, type V1Container, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { ProbeResult } from "../container/runtime-helper.js";
import { DEF_BUCKETS, type Family } from "../metrics/families.js";
import { type Labels, MetricRegistry } from "../metrics/metric-registry.js";
import type { ProbeType } from "./spec.js";

/** Mirrors probeType.String. */
const TYPES: Readonly<Record<ProbeType, string>> = {
  liveness: "Liveness",
  readiness: "Readiness",
  startup: "Startup",
};
/** Mirrors probeResultSuccessful and its neighbours. */
const RESULTS: Readonly<Record<ProbeResult, string>> = { success: "successful", failure: "failed", unknown: "unknown" };

/** Mirrors ProberResults and ProberDuration in pkg/kubelet/prober/prober_manager.go. */
const FAMILIES = {
  prober_probe_duration_seconds: {
    type: "histogram",
    help: "Duration in seconds for a probe response.",
    labels: ["container", "namespace", "pod", "probe_type"],
    buckets: DEF_BUCKETS,
  },
  prober_probe_total: {
    type: "counter",
    help: "Cumulative number of a liveness, readiness or startup probe for a container by result.",
    labels: ["container", "namespace", "pod", "pod_uid", "probe_type", "result"],
  },
  process_start_time_seconds: { type: "gauge", help: "Start time of the process since unix epoch in seconds." },
} as const satisfies Readonly<Record<string, Family>>;

/** The probe that a worker runs. */
export interface ProbeOfWorker {
  readonly type: ProbeType;
  readonly pod: V1Pod;
  readonly container: V1Container;
}

/** Counts and times probes, for /metrics/probes. A pod's series go with its workers. */
export class ProberMetrics {
  readonly #registry = new MetricRegistry(FAMILIES);

  /** @param startMs Unix ms at which the kubelet began */
  constructor(startMs: number) {
    this.#registry.set("process_start_time_seconds", startMs / 1000);
  }

  /** A failed probe is not timed, as upstream. */
  count(probe: ProbeOfWorker, result: ProbeResult, durationMs: number): void {
    const { ofCount, ofDuration } = labelsOf(probe);
    this.#registry.add("prober_probe_total", { ...ofCount, result: RESULTS[result] });
    if (result !== "failure") this.#registry.observe("prober_probe_duration_seconds", durationMs, ofDuration);
  }

  /** The worker has ended. */
  forget(probe: ProbeOfWorker): void {
    const { ofCount, ofDuration } = labelsOf(probe);
    for (const result of Object.values(RESULTS)) this.#registry.remove("prober_probe_total", { ...ofCount, result });
    this.#registry.remove("prober_probe_duration_seconds", ofDuration);
  }

  /** Prometheus' text format. */
  text(): Promise<string> {
    return this.#registry.text();
  }
}

/** In the order of their names; `result` follows. */
function labelsOf({ type, pod, container }: ProbeOfWorker): { readonly ofCount: Labels; readonly ofDuration: Labels } {
  const { namespace, uid } = pod.metadata;
  const head = { container: container.name, namespace, pod: podLabelName(pod) };
  const probe_type = TYPES[type];
  return { ofCount: { ...head, pod_uid: uid, probe_type }, ofDuration: { ...head, probe_type } };
}

/** Pods of one workload share its name, so that each rollout does not add series. Mirrors getPodLabelName in worker.go. */
function podLabelName({ metadata }: V1Pod): string {
  const { name, generateName = "", labels } = metadata;
  if (generateName === "") return name;
  const prefix = name.split("-").slice(0, -1).join("-");
  const hash = labels?.[POD_TEMPLATE_HASH];
  return hash === undefined ? prefix : prefix.replaceAll(`-${hash}`, "");
}
