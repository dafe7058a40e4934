import type { CriClient } from "../../staging/cri/remote/create-cri-client.js";
import type { Clock } from "../../util/clock.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";

/** The label of each call. `…As` reads fewer fields by the same call. */
const OPERATIONS: Readonly<Record<string, string>> = {
  version: "version",
  status: "status",
  runPodSandbox: "run_podsandbox",
  stopPodSandbox: "stop_podsandbox",
  removePodSandbox: "remove_podsandbox",
  podSandboxStatus: "podsandbox_status",
  podSandboxStatusAs: "podsandbox_status",
  listPodSandbox: "list_podsandbox",
  listPodSandboxAs: "list_podsandbox",
  createContainer: "create_container",
  startContainer: "start_container",
  stopContainer: "stop_container",
  removeContainer: "remove_container",
  listContainers: "list_containers",
  listContainersAs: "list_containers",
  containerStatus: "container_status",
  containerStatusAs: "container_status",
  updateContainerResources: "update_container",
  reopenContainerLog: "reopen_container_log",
  execSync: "exec_sync",
  exec: "exec",
  attach: "attach",
  portForward: "port_forward",
  updateRuntimeConfig: "update_runtime_config",
  checkpointContainer: "checkpoint_container",
  containerStats: "container_stats",
  listContainerStats: "list_container_stats",
  listContainerStatsAs: "list_container_stats",
  podSandboxStats: "podsandbox_stats",
  listPodSandboxStats: "list_podsandbox_stats",
  listPodSandboxStatsAs: "list_podsandbox_stats",
  listImages: "list_images",
  imageStatus: "image_status",
  pullImage: "pull_image",
  removeImage: "remove_image",
  imageFsInfo: "image_fs_info",
};

interface Deps {
  readonly metrics: KubeletMetrics;
  readonly clock: Clock;
}

/**
 * A client of the runtime whose calls are counted, timed, and counted once more if they fail.
 *
 * Mirrors newInstrumentedRuntimeService and newInstrumentedImageManagerService in
 * pkg/kubelet/kuberuntime/instrumented_services.go. Differs: a call that the kubelet cancels counts as an error here too, and the
 * statistics have a client of their own.
 */
export function instrumentedClient(client: CriClient, deps: Deps): CriClient {
  const { runtime, images, stats } = client;
  return {
    ...client,
    runtime: instrumented(runtime, deps),
    images: instrumented(images, deps),
    stats: instrumented(stats, deps),
  };
}

function instrumented<T extends object>(service: T, deps: Deps): T {
  return new Proxy(service, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const operation = typeof name === "string" ? OPERATIONS[name] : undefined;
      // Bound, because the services have private fields.
      const call = value.bind(target) as (...args: unknown[]) => Promise<{ readonly outcome: string }>;
      if (operation === undefined) return call;
      return (...args: unknown[]) => {
        const handler = operation === "run_podsandbox" ? String(args[1]) : undefined;
        return measured(deps, { operation, handler }, () => call(...args));
      };
    },
  });
}

/** Mirrors recordOperation and recordError. */
async function measured<T extends { readonly outcome: string }>(
  { metrics, clock }: Deps,
  { operation, handler }: { readonly operation: string; readonly handler: string | undefined },
  call: () => Promise<T>,
): Promise<T> {
  const labels = { operation_type: operation };
  const startMs = clock.now();
  let isOk = false;
  try {
    const result = await call();
    isOk = result.outcome === "ok";
    return result;
  } finally {
    metrics.add("kubelet_runtime_operations_total", labels);
    metrics.observe("kubelet_runtime_operations_duration_seconds", clock.now() - startMs, labels);
    if (!isOk) metrics.add("kubelet_runtime_operations_errors_total", labels);
    if (handler !== undefined) measureSandbox({ metrics, clock }, handler, { startMs, isOk });
  }
}

/** Mirrors RunPodSandbox in pkg/kubelet/kuberuntime/instrumented_services.go. @param handler of the RuntimeClass */
function measureSandbox(
  { metrics, clock }: Deps,
  handler: string,
  { startMs, isOk }: { readonly startMs: number; readonly isOk: boolean },
): void {
  const labels = { runtime_handler: handler };
  metrics.observe("kubelet_run_podsandbox_duration_seconds", clock.now() - startMs, labels);
  if (!isOk) metrics.add("kubelet_run_podsandbox_errors_total", labels);
}
