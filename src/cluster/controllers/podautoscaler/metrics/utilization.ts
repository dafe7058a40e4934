import { MetricsError, type PodMetric, type PodMetricsInfo } from "./client.js";

/** How much the pods use, against how much they should. */
export interface Usage {
  /** 2: twice the target */
  readonly ratio: number;
  /** per pod, in thousandths */
  readonly average: number;
  /** percent of the requests; absent for a target that is an amount */
  readonly utilization?: number;
}

/**
 * The use in percent of the requests. Mirrors GetResourceUtilizationRatio in
 * pkg/controller/podautoscaler/metrics/utilization.go.
 * @param requests pod name -> request, in thousandths
 * @throws MetricsError
 */
export function getResourceUtilizationRatio(
  metrics: PodMetricsInfo,
  requests: ReadonlyMap<string, number>,
  targetUtilization: number,
): Usage {
  const known = [...metrics].filter(([pod]) => requests.has(pod));
  const requested = known.reduce((sum, [pod]) => sum + (requests.get(pod) ?? 0), 0);
  if (requested === 0) throw new MetricsError("no metrics returned matched known pods");
  const used = total(known.map(([, metric]) => metric));
  const utilization = Math.trunc((used * 100) / requested);
  return { ratio: utilization / targetUtilization, average: Math.trunc(used / known.length), utilization };
}

/** The average use against an amount. Mirrors GetMetricUsageRatio. @param targetUsage per pod, in thousandths */
export function getMetricUsageRatio(metrics: PodMetricsInfo, targetUsage: number): Usage {
  const average = Math.trunc(total([...metrics.values()]) / metrics.size);
  return { ratio: average / targetUsage, average };
}

function total(metrics: readonly PodMetric[]): number {
  return metrics.reduce((sum, { value }) => sum + value, 0);
}
