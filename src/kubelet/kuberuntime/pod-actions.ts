import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { PodStatus } from "../container/runtime.js";
import type { ProbeResults } from "../container/runtime-helper.js";

/** Why a container is killed: a failed probe may set its own grace period. Mirrors containerKillReason. */
export type KillReason = "StartupProbe" | "LivenessProbe" | "FailedPostStartHook" | "Unknown" | "";

/** Mirrors containerToKillInfo. */
export interface ContainerToKill {
  readonly containerId: string;
  readonly name: string;
  /** message of the Killing event */
  readonly message: string;
  readonly reason: KillReason;
}

/** The actions to take for a pod. Mirrors podActions; containers are named by their index in the pod's spec. */
export interface PodActions {
  /** stop all containers and the sandbox */
  killPod: boolean;
  createSandbox: boolean;
  readonly sandboxId?: string;
  readonly attempt: number;
  /** without restartable ones at most one: the next */
  initContainersToStart: number[];
  containersToStart: number[];
  readonly containersToKill: ContainerToKill[];
  ephemeralContainersToStart: number[];
  /** what decided about the sandbox, for the trace */
  readonly why: string;
}

export interface PodActionsDeps {
  readonly livenessManager: ProbeResults;
  readonly startupManager: ProbeResults;
  /** `1.25` */
  readonly kubeVersion: string;
}

/** Whether the current sandbox can be kept. */
export interface SandboxChange {
  readonly isChanged: boolean;
  /** of the sandbox to create, or of the one to keep */
  readonly attempt: number;
  /** the current sandbox; undefined: none, or none that describes the pod any more */
  readonly sandboxId?: string;
  /** for the trace */
  readonly why: string;
}

/**
 * Decides whether a pod needs a new sandbox: it has none, the newest is not ready, two are ready, or its network mode
 * changed.
 *
 * Mirrors PodSandboxChanged in pkg/kubelet/kuberuntime/util/util.go. Pure.
 */
export function podSandboxChanged(pod: V1Pod, { sandboxStatuses }: PodStatus): SandboxChange {
  const [newest] = sandboxStatuses;
  if (newest === undefined) return { isChanged: true, attempt: 0, why: "it has no sandbox" };
  const { sandboxId, attempt } = newest;
  const another = { isChanged: true, attempt: attempt + 1, sandboxId };
  const readyCount = sandboxStatuses.filter(({ state }) => state === "ready").length;
  if (readyCount > 1) return { ...another, why: `${readyCount} sandboxes are ready, only one may be` };
  if (newest.state !== "ready") return { ...another, why: `sandbox ${shortId(sandboxId)} is not ready` };
  if (newest.usesHostNetwork !== (pod.spec.hostNetwork === true)) {
    return { isChanged: true, attempt: attempt + 1, why: `sandbox ${shortId(sandboxId)} is in another network` };
  }
  if (newest.lacksIp === true) return { ...another, why: `sandbox ${shortId(sandboxId)} has no IP address` };
  return { isChanged: false, attempt, sandboxId, why: `sandbox ${shortId(sandboxId)} is ready` };
}

/** Shortens IDs as crictl does. */
export function shortId(containerId: string): string {
  return containerId.slice(0, 13);
}
