import type { ContainerSpec, V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { RemoteImageService } from "../../staging/cri/remote/remote-image.js";
import type { RemoteRuntimeService } from "../../staging/cri/remote/remote-runtime.js";
import type { Ctx } from "../../trace/ctx.js";
import { factFor } from "../../util/release/facts.js";
import { containerFieldPath } from "../container/helpers.js";
import type { PodStateProvider, ProbeResults, RuntimeHelper } from "../container/runtime-helper.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import type { ImageManager } from "../images/image-manager.js";
import type { HandlerRunner, HookHttpClient } from "../lifecycle/handlers.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import type { RuntimeObserver } from "./report.js";

export interface KubeRuntimeManagerDeps extends Ctx {
  readonly runtimeService: RemoteRuntimeService;
  readonly imageService: RemoteImageService;
  readonly runtimeHelper: RuntimeHelper;
  readonly livenessManager: ProbeResults;
  readonly startupManager: ProbeResults;
  readonly podStateProvider: PodStateProvider;
  readonly recorder: PodEventRecorder;
  /** default: httpGet hooks fail with an error */
  readonly hookHttpClient?: HookHttpClient;
  readonly metrics?: Pick<KubeletMetrics, "add">;
}

export interface KubeRuntimeManagerOptions {
  /** `1.25` */
  readonly kubeVersion: string;
  /** the runtime's name in the Version response: `containerd` */
  readonly runtimeName: string;
  /** the folder for logs; upstream `/var/log/pods` */
  readonly podLogsDirectory: string;
  /** the folder for links to logs, as upstream's `/var/log/containers`; default: no links */
  readonly containerLogsDirectory?: string;
  /** localhost seccomp profiles: `<root>/seccomp` */
  readonly seccompProfileRoot: string;
  /** one image at a time; default true, as upstream */
  readonly serializeImagePulls?: boolean;
  /** bytes of the node's memory, for the OOM score of burstable pods */
  readonly memoryCapacityBytes: number;
  /** default true, as upstream: cpu limits become quotas */
  readonly cpuCfsQuota?: boolean;
  /** the runtime's handler for a RuntimeClass; default: always the runtime's own default */
  readonly runtimeHandlerOf?: (runtimeClassName: string) => string;
}

/** The context that the manager's parts share. */
export interface ManagerContext extends Omit<KubeRuntimeManagerDeps, "hookHttpClient"> {
  readonly options: KubeRuntimeManagerOptions;
  readonly images: ImageManager;
  readonly runner: HandlerRunner;
  readonly observer: RuntimeObserver;
}

/**
 * Records an event about a container. Replaces its ID by its name: the ID means nothing to readers of events, and would
 * defeat the merging of equal events.
 * Mirrors recordContainerEvent in pkg/kubelet/kuberuntime/kuberuntime_container.go.
 */
export function recordContainerEvent(
  context: ManagerContext,
  subject: { readonly pod: V1Pod; readonly container: ContainerSpec; readonly containerId?: string },
  type: "Normal" | "Warning",
  reason: string,
  message: string,
): void {
  const { pod, container, containerId = "" } = subject;
  const text = containerId === "" ? message : message.replaceAll(containerId, container.name);
  context.recorder.event(pod, type, reason, text, { fieldPath: containerFieldPath(pod, container) });
}

/**
 * The event's message for a failed hook. From v1.26 on it omits the hook's output, which may contain secrets.
 * @param failure in the runner's words
 */
export function hookEventText({ options }: ManagerContext, hook: "PostStart" | "PreStop", failure: string): string {
  return factFor("hookEvent", options.kubeVersion) === "only the failure" ? `${hook}Hook failed` : failure;
}
