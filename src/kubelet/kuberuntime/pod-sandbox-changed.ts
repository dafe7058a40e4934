import type { V1Pod } from "../../apimachinery/api/pod.js";
import type { PodStatus } from "../container/runtime.js";

/** Whether the sandbox that is there will do. */
export interface SandboxChange {
  readonly isChanged: boolean;
  /** of the sandbox to be made, or of the one to be kept */
  readonly attempt: number;
  /** the sandbox that is there; undefined: none, or none that says anything about this pod any more */
  readonly sandboxId?: string;
  /** in words */
  readonly why: string;
}

/**
 * Whether a pod needs another sandbox: there is none, the newest is not ready, there are two ready ones, or it is in
 * another network.
 *
 * Mirrors PodSandboxChanged in pkg/kubelet/kuberuntime/util/util.go. Pure.
 */
export function podSandboxChanged(pod: V1Pod, { sandboxStatuses }: PodStatus): SandboxChange {
  const [newest] = sandboxStatuses;
  if (newest === undefined) return { isChanged: true, attempt: 0, why: "it has no sandbox" };
  const { sandboxId, attempt } = newest;
  const another = { isChanged: true, attempt: attempt + 1, sandboxId };
  const readyCount = sandboxStatuses.filter(({ state }) => state === "ready").length;
  if (readyCount > 1) return { ...another, why: `${readyCount} sandboxes are ready: one must be enough` };
  if (newest.state !== "ready") return { ...another, why: `sandbox ${shortId(sandboxId)} is not ready` };
  if (newest.usesHostNetwork !== (pod.spec.hostNetwork === true)) {
    return { isChanged: true, attempt: attempt + 1, why: `sandbox ${shortId(sandboxId)} is in another network` };
  }
  if (newest.lacksIp === true) return { ...another, why: `sandbox ${shortId(sandboxId)} has no IP address` };
  return { isChanged: false, attempt, sandboxId, why: `sandbox ${shortId(sandboxId)} is ready` };
}

/** As crictl shows IDs. */
export function shortId(containerId: string): string {
  return containerId.slice(0, 13);
}
