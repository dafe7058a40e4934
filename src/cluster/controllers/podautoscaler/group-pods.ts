import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { findCondition } from "../../../staging/apimachinery/api/pod.js";
import { milliValue } from "../../../staging/apimachinery/quantity.js";
import { MetricsError, type PodMetric, type PodMetricsInfo } from "./metrics/client.js";

/** How long after its start a pod may still initialize. Mirrors horizontal-pod-autoscaler-cpu-initialization-period. */
const CPU_INITIALIZATION_PERIOD_MS = 5 * 60_000;
/** A pod that was never ready after this time has a use that counts. Mirrors …-initial-readiness-delay. */
const INITIAL_READINESS_DELAY_MS = 30_000;

export interface PodGroups {
  readonly readyPodCount: number;
  /** names; their use does not count */
  readonly unreadyPods: readonly string[];
  /** without a metric */
  readonly missingPods: readonly string[];
  /** they end, or have failed */
  readonly ignoredPods: readonly string[];
}

/** Which pods' metrics count. Mirrors groupPods in pkg/controller/podautoscaler/replica_calculator.go. */
export function groupPods(
  pods: readonly PodObject[],
  metrics: PodMetricsInfo,
  resource: string,
  nowMs: number,
): PodGroups {
  const groups = { ready: [], unready: [], missing: [], ignored: [] } as Record<PodGroup, string[]>;
  for (const pod of pods) groups[groupOf(pod, metrics.get(nameOf(pod)), resource, nowMs)].push(nameOf(pod));
  const { ready, unready: unreadyPods, missing: missingPods, ignored: ignoredPods } = groups;
  return { readyPodCount: ready.length, unreadyPods, missingPods, ignoredPods };
}

type PodGroup = "ready" | "unready" | "missing" | "ignored";

function groupOf(pod: PodObject, metric: PodMetric | undefined, resource: string, nowMs: number): PodGroup {
  const { phase } = pod.status ?? {};
  if (isTerminating(pod) || phase === "Failed") return "ignored";
  if (phase === "Pending") return "unready";
  if (metric === undefined) return "missing";
  return resource === "cpu" && isInitializing(pod, metric, nowMs) ? "unready" : "ready";
}

/** A starting pod uses more CPU than it will later. */
function isInitializing({ status }: PodObject, metric: PodMetric, nowMs: number): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  const startMs = Date.parse(status?.startTime ?? "");
  if (ready === undefined || Number.isNaN(startMs)) return true;
  const isUnready = ready.status === "False";
  const sinceMs = Date.parse(ready.lastTransitionTime ?? "") || 0;
  // One whole window must have been measured since the pod became ready.
  if (startMs + CPU_INITIALIZATION_PERIOD_MS > nowMs)
    return isUnready || metric.timestampMs < sinceMs + metric.windowMs;
  return isUnready && startMs + INITIAL_READINESS_DELAY_MS > sinceMs;
}

/** Pod name -> request, in thousandths. Mirrors calculatePodRequests. @throws MetricsError if a container has none */
export function calculatePodRequests(
  pods: readonly PodObject[],
  container: string | undefined,
  resource: string,
): ReadonlyMap<string, number> {
  return new Map(
    pods.map((pod) => {
      const { containers = [], initContainers = [] } = pod.spec ?? {};
      const sidecars = (initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
      const counted = [...containers, ...sidecars].filter(({ name }) => container === undefined || name === container);
      const requests = counted.map(({ name, resources }) => {
        const request = (resources?.requests as Record<string, string> | undefined)?.[resource];
        if (request !== undefined) return milliValue(request);
        throw new MetricsError(`missing request for ${resource} in container ${name} of Pod ${nameOf(pod)}`);
      });
      return [nameOf(pod), requests.reduce((sum, request) => sum + request, 0)];
    }),
  );
}
