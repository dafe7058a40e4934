import { ephemeralContainersOf } from "../../../staging/apimachinery/api/pod.js";
import { collectProcess } from "../../metrics/collectors/process-metrics.js";
import type { Kubelet } from "../kubelet.js";

/**
 * What is measured for each reader of /metrics, in place of being counted as it happens.
 *
 * Mirrors the collectors that initializeModules registers in pkg/kubelet/kubelet.go, and updateMetrics in
 * pkg/kubelet/pod/pod_manager.go.
 */
export function registerCollectors(kubelet: Kubelet): void {
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
async function collectLogSizes({ metrics, summaryProvider, signal }: Kubelet): Promise<void> {
  const summary = await summaryProvider.get(false, signal, false).catch(() => undefined);
  const samples = (summary?.pods ?? []).flatMap(({ podRef: { namespace, name: pod, uid }, containers }) =>
    containers.flatMap(({ name: container, logs }) =>
      logs?.usedBytes === undefined ? [] : [{ labels: { container, namespace, pod, uid }, value: logs.usedBytes }],
    ),
  );
  metrics.replace("kubelet_container_log_filesystem_used_bytes", samples);
}
