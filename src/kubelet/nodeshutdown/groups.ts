import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { parseGoDuration } from "../../staging/apimachinery/time.js";
import type { KubeletConfiguration } from "../apis/config/defaults.js";
import { isGateEnabled } from "../apis/config/feature-gates.js";

/** How long pods of a range of priorities may take to end. The range ends where the next one begins. */
export interface ShutdownPeriod {
  readonly priority: number;
  readonly gracePeriodSeconds: number;
}

export interface ShutdownGroup extends ShutdownPeriod {
  readonly pods: readonly V1Pod[];
}

/** Mirrors SystemCriticalPriority in pkg/apis/scheduling/types.go. */
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/**
 * The ranges of a configuration, from the lowest: shutdownGracePeriodByPodPriority, or else what shutdownGracePeriod leaves
 * to other pods, and what critical pods have. Mirrors migrateConfig.
 */
export function shutdownPeriods(config: KubeletConfiguration): readonly ShutdownPeriod[] {
  const { shutdownGracePeriodByPodPriority = [], shutdownGracePeriod, shutdownGracePeriodCriticalPods } = config;
  if (!isGateEnabled(config.featureGates ?? {}, "GracefulNodeShutdown", true)) return [];
  if (shutdownGracePeriodByPodPriority.length > 0) {
    return shutdownGracePeriodByPodPriority
      .map(({ priority = 0, shutdownGracePeriodSeconds: gracePeriodSeconds = 0 }) => ({ priority, gracePeriodSeconds }))
      .sort((a, b) => a.priority - b.priority);
  }
  const seconds = Math.trunc(parseGoDuration(shutdownGracePeriod) / 1000);
  const criticalSeconds = Math.trunc(parseGoDuration(shutdownGracePeriodCriticalPods) / 1000);
  if (seconds === 0) return [];
  return [
    { priority: 0, gracePeriodSeconds: seconds - criticalSeconds },
    { priority: SYSTEM_CRITICAL_PRIORITY, gracePeriodSeconds: criticalSeconds },
  ];
}

/** Puts each pod into the last range that begins at its priority or below; below all, into the first. Mirrors groupByPriority. */
export function groupByPriority(periods: readonly ShutdownPeriod[], pods: readonly V1Pod[]): ShutdownGroup[] {
  const indexOf = ({ spec }: V1Pod) =>
    Math.max(
      0,
      periods.findLastIndex(({ priority }) => priority <= (spec.priority ?? 0)),
    );
  return periods.map((period, index) => ({ ...period, pods: pods.filter((pod) => indexOf(pod) === index) }));
}
