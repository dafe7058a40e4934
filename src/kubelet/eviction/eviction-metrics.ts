import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import type { Observations } from "./observations.js";
import type { Threshold } from "./threshold.js";

/** Counts evictions, and notes how old the measurements are that lead to them. */
export class EvictionMetrics {
  constructor(readonly metrics: Pick<KubeletMetrics, "add" | "observe"> | undefined) {}

  /** @param signal a Signal, or one of `emptydirfs.limit`, `ephemeralpodfs.limit` and `ephemeralcontainerfs.limit` */
  evicted(signal: string): void {
    this.metrics?.add("kubelet_evictions", { eviction_signal: signal });
  }

  /** Mirrors the record of EvictionStatsAge in synchronize. */
  actsOn(thresholds: readonly Threshold[], observations: Observations, nowMs: number): void {
    for (const { signal } of thresholds) {
      const timeMs = observations.get(signal)?.timeMs;
      if (timeMs === undefined) continue;
      this.metrics?.observe("kubelet_eviction_stats_age_seconds", nowMs - timeMs, { eviction_signal: signal });
    }
  }
}
