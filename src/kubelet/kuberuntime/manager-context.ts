import type { V1Pod } from "../../apimachinery/api/pod.js";
import { factFor } from "../../release/facts.js";
import type { Ctx } from "../../trace/ctx.js";
import { type ContainerSpec, containerFieldPath } from "../container/spec.js";
import type { RemoteImageService } from "../cri/remote-image.js";
import type { RemoteRuntimeService } from "../cri/remote-runtime.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import type { ImageManager } from "../images/image-manager.js";
import type { HandlerRunner, HookHttpClient } from "../lifecycle/handlers.js";
import type { PodStateProvider, ProbeResults, RuntimeHelper } from "./runtime-helper.js";

export interface KubeRuntimeManagerDeps extends Ctx {
  readonly runtimeService: RemoteRuntimeService;
  readonly imageService: RemoteImageService;
  readonly runtimeHelper: RuntimeHelper;
  readonly livenessManager: ProbeResults;
  readonly startupManager: ProbeResults;
  readonly podStateProvider: PodStateProvider;
  readonly recorder: PodEventRecorder;
  /** default: httpGet hooks fail with a text that says so */
  readonly hookHttpClient?: HookHttpClient;
}

export interface KubeRuntimeManagerOptions {
  /** `1.25` */
  readonly kubeVersion: string;
  /** what `Version` said: `containerd` */
  readonly runtimeName: string;
  /** logs go below; upstream `/var/log/pods` */
  readonly podLogsDirectory: string;
  /** links to logs go here, as upstream's `/var/log/containers`; default: none are made */
  readonly containerLogsDirectory?: string;
  /** localhost seccomp profiles: `<root>/seccomp` */
  readonly seccompProfileRoot: string;
  /** one image at a time; default true, as upstream */
  readonly serializeImagePulls?: boolean;
  /** bytes of the node's memory, for the OOM score of burstable pods */
  readonly memoryCapacityBytes: number;
  /** default true, as upstream: limits of cpu become quotas */
  readonly cpuCfsQuota?: boolean;
  /** the runtime's handler for a RuntimeClass; default: always the runtime's own default */
  readonly runtimeHandlerOf?: (runtimeClassName: string) => string;
}

/** What the manager's parts share. */
export interface ManagerContext extends Omit<KubeRuntimeManagerDeps, "hookHttpClient"> {
  readonly options: KubeRuntimeManagerOptions;
  readonly images: ImageManager;
  readonly runner: HandlerRunner;
}

/**
 * Records an event about a container. Its ID means nothing to whoever reads events, and would make a new event of each:
 * the name stands for it.
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
 * What the event of a hook that failed tells. What the hook printed may hold secrets: from v1.26 on it is not for events.
 * @param failure in the runner's words
 */
export function hookEventText({ options }: ManagerContext, hook: "PostStart" | "PreStop", failure: string): string {
  return factFor("hookEvent", options.kubeVersion) === "only the failure" ? `${hook}Hook failed` : failure;
}
