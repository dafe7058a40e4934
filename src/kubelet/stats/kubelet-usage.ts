import { memoryUsage, resourceUsage } from "node:process";
import type { MemoryStats } from "../apis/stats/v1alpha1.js";

/** The usage of the kubelet at one moment. */
export interface KubeletUsage extends Required<Pick<MemoryStats, "rssBytes" | "pageFaults" | "majorPageFaults">> {
  /** since the start, over all cores */
  readonly coreNanoSeconds: number;
}

/**
 * Measures the process that the kubelet runs in: with an embedded control plane, that as well.
 *
 * Mirrors the kubelet's row of GetSystemContainersStats in pkg/kubelet/server/stats/summary_sys_containers.go.
 * Differs: the process, where upstream reads the cgroup of the kubelet.
 */
export function readKubeletUsage(): KubeletUsage {
  const { userCPUTime, systemCPUTime, minorPageFault, majorPageFault } = resourceUsage();
  return {
    coreNanoSeconds: (userCPUTime + systemCPUTime) * 1000,
    rssBytes: memoryUsage.rss(),
    pageFaults: minorPageFault + majorPageFault,
    majorPageFaults: majorPageFault,
  };
}
