import { rfc3339 } from "../../apimachinery/time.js";
import { CONTAINER_NAME_LABEL, POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from "../../cri/labels.js";
import type { ContainerStats } from "../../cri/messages/stats.js";

interface PodStats {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly containers: Record<string, unknown>[];
}

/**
 * The resource usage of this node's containers, as the runtime reports it.
 *
 * Mirrors pkg/kubelet/stats/cri_stats_provider.go (listPodStats, makeContainerStats) and k8s.io/kubelet/pkg/apis/stats
 * (Summary).
 * Differs: without cAdvisor's figures for the node, networks and volumes. Pure.
 */
export function statsSummary(nodeName: string, stats: readonly ContainerStats[]): object {
  const pods = new Map<string, PodStats>();
  for (const one of stats) {
    const labels = one.attributes?.labels ?? {};
    const uid = labels[POD_UID_LABEL];
    if (uid === undefined) continue;
    const podRef = { name: labels[POD_NAME_LABEL] ?? "", namespace: labels[POD_NAMESPACE_LABEL] ?? "", uid };
    const pod = pods.get(uid) ?? { podRef, containers: [] };
    pods.set(uid, pod);
    pod.containers.push(containerStats(labels[CONTAINER_NAME_LABEL] ?? "", one));
  }
  return { node: { nodeName }, pods: [...pods.values()] };
}

function containerStats(name: string, { cpu, memory, writableLayer }: ContainerStats): Record<string, unknown> {
  return {
    name,
    cpu: cpu && {
      time: timeText(cpu.timestamp),
      usageNanoCores: number(cpu.usageNanoCores),
      usageCoreNanoSeconds: number(cpu.usageCoreNanoSeconds),
    },
    memory: memory && {
      time: timeText(memory.timestamp),
      workingSetBytes: number(memory.workingSetBytes),
      availableBytes: number(memory.availableBytes),
      usageBytes: number(memory.usageBytes),
      rssBytes: number(memory.rssBytes),
    },
    rootfs: writableLayer && {
      time: timeText(writableLayer.timestamp),
      usedBytes: number(writableLayer.usedBytes),
      inodesUsed: number(writableLayer.inodesUsed),
    },
  };
}

/** Undefined stays undefined, so JSON omits it. */
function number(value: { readonly value: bigint } | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.value);
}

/** metav1.Time: whole seconds. @param nanoseconds since 1970 */
function timeText(nanoseconds: bigint): string {
  return rfc3339(Number(nanoseconds / 1_000_000n));
}
