import type { Pod } from "../container/runtime.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";

/**
 * Notes what a relist has listed, and when.
 *
 * Mirrors updateRelistTime and updateRunningPodAndContainerMetrics in pkg/kubelet/pleg/generic.go. As there, a state that no
 * container has any more keeps its last number.
 */
export function updateRelistMetrics(metrics: KubeletMetrics, listedMs: number, pods: readonly Pod[]): void {
  metrics.set("kubelet_pleg_last_seen_seconds", Math.floor(listedMs / 1000));
  const states = new Map<string, number>();
  for (const { state } of pods.flatMap(({ containers }) => containers)) states.set(state, (states.get(state) ?? 0) + 1);
  for (const [state, count] of states) metrics.set("kubelet_running_containers", count, { container_state: state });
  const running = pods.filter(({ sandboxes }) => sandboxes.some(({ state }) => state === "running"));
  metrics.set("kubelet_running_pods", running.length);
}
