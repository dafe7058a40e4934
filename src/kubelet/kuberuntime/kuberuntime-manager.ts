import type { V1Container, V1Pod } from "../../api/pod.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import type { RemoteImageService } from "../cri/remote-image.js";
import type { RemoteRuntimeService } from "../cri/remote-runtime.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import type { PodStateProvider, ProbeResults, RuntimeHelper } from "./runtime-helper.js";

/** Asks a hook's URL; never anything but what the pod's author wrote. Upstream: kubetypes.HTTPDoer. */
export interface HookHttpClient {
  /** @returns the status code. @throws Error when no answer came, with the reason in its message */
  get(
    url: string,
    headers: readonly { readonly name: string; readonly value: string }[],
    target: { readonly pod: V1Pod; readonly container: V1Container },
    signal: AbortSignal,
  ): Promise<number>;
}

export interface KubeRuntimeManagerDeps {
  readonly runtimeService: RemoteRuntimeService;
  readonly imageService: RemoteImageService;
  readonly runtimeHelper: RuntimeHelper;
  readonly livenessManager: ProbeResults;
  readonly startupManager: ProbeResults;
  readonly podStateProvider: PodStateProvider;
  readonly recorder: PodEventRecorder;
  readonly clock: Clock;
  readonly trace: Trace;
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
}
