import { ephemeralContainersOf } from "../../../staging/apimachinery/api/pod.js";
import { unitValue } from "../../../staging/apimachinery/quantity.js";
import { parseGoDuration } from "../../../staging/apimachinery/time.js";
import { collectProcess } from "../../metrics/collectors/process-metrics.js";
import { readKubeletUsage } from "../../stats/kubelet-usage.js";
import { PodDiskStats } from "../../stats/pod-disk-stats.js";
import { SummaryProvider } from "../../stats/summary-provider.js";
import { podLogsDir } from "../../volumes/paths.js";
import type { WithRuntime } from "./runtime.js";

export type WithStats = WithRuntime & ReturnType<typeof newStats>;

/** Statistics of the node and its pods. */
export function newStats({ deps, options, config, polling, podManager, volumes, fileSystems }: WithRuntime) {
  const { clock } = deps;
  const podDisk = new PodDiskStats(
    {
      clock,
      getPodByUid: (podUid) => podManager.getPodByUid(podUid),
      getMountedVolumes: (podUid) => volumes.getMountedVolumes(podUid),
    },
    { podLogsDirectory: podLogsDir(options.rootDir), periodMs: parseGoDuration(config.volumeStatsAggPeriod) },
  );
  const summaryProvider = SummaryProvider.over(
    polling,
    { clock, machine: options.machine.usage, readKubelet: readKubeletUsage, fileSystems, podDisk },
    { nodeName: options.nodeName, memoryBytes: unitValue(options.resources.memory) },
  );
  return { podDisk, summaryProvider };
}

/**
 * What is measured for each reader of /metrics, in place of being counted as it happens.
 *
 * Mirrors the collectors that initializeModules registers in pkg/kubelet/kubelet.go, and updateMetrics in
 * pkg/kubelet/pod/pod_manager.go.
 */
export function registerCollectors(kubelet: WithStats): void {
  const { metrics, volumes, podManager } = kubelet;
  metrics.collectWith(() => collectProcess(metrics));
  metrics.collectWith(() => {
    metrics.replace("volume_manager_total_volumes", volumes.volumeCounts());
    const ephemeral = podManager.getPods().flatMap(ephemeralContainersOf);
    metrics.set("kubelet_managed_ephemeral_containers", ephemeral.length);
  });
  metrics.collectWith(() => collectLogSizes(kubelet));
}

/** Mirrors CollectWithStability in pkg/kubelet/metrics/collectors/log_metrics.go: without statistics there are no sizes. */
async function collectLogSizes({ metrics, summaryProvider, signal }: WithStats): Promise<void> {
  const summary = await summaryProvider.get(false, signal, false).catch(() => undefined);
  const samples = (summary?.pods ?? []).flatMap(({ podRef: { namespace, name: pod, uid }, containers }) =>
    containers.flatMap(({ name: container, logs }) =>
      logs?.usedBytes === undefined ? [] : [{ labels: { container, namespace, pod, uid }, value: logs.usedBytes }],
    ),
  );
  metrics.replace("kubelet_container_log_filesystem_used_bytes", samples);
}
