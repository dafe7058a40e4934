import type { V1Pod, V1PodStatus } from "../../apimachinery/api/pod.js";
import type { PodStatus } from "../container/runtime.js";
import type { PodSyncResult } from "../container/sync-result.js";
import type { PullSecret } from "../kuberuntime/generic-runtime.js";
import type { PodAdmitResult } from "../lifecycle-admission/admit.js";

/**
 * What the sync loop's parts ask of the parts that they do not make themselves: each is as small as its use.
 */

/** May a pod run here, beside those that do? Mirrors canAdmitPod in pkg/kubelet/kubelet.go. */
export type AdmitPod = (activePods: readonly V1Pod[], pod: V1Pod) => Promise<PodAdmitResult>;

/** Mirrors the part of prober.Manager that the sync functions use. */
export interface PodProber {
  addPod(pod: V1Pod): void;
  /** a terminating pod is still probed for readiness only */
  stopLivenessAndStartup(pod: V1Pod): void;
  removePod(pod: V1Pod): void;
  /** stops the probes of all other pods */
  cleanupPods(desiredPodUids: ReadonlySet<string>): void;
}

/** Mirrors the part of VolumeManager in pkg/kubelet/volumemanager that the sync functions use. */
export interface PodVolumes {
  /** @throws Error in upstream's words: which volumes are not there, and why */
  waitForAttachAndMount(pod: V1Pod, signal: AbortSignal): Promise<void>;
  waitForUnmount(pod: V1Pod, signal: AbortSignal): Promise<void>;
  /** something of the pod's volumes is left on this node */
  podVolumesExist(podUid: string): boolean;
}

/** Secrets and config maps are kept at hand for the pods that use them. Mirrors secret.Manager and configmap.Manager. */
export interface PodObjects {
  registerPod(pod: V1Pod): void;
  unregisterPod(pod: V1Pod): void;
  /** @returns undefined: there is none, or it may not be read */
  getPullSecret(namespace: string, name: string, signal: AbortSignal): Promise<PullSecret | undefined>;
}

/**
 * Makes what the API shows of a pod from what the runtime knows. Mirrors generateAPIPodStatus.
 * @param podIsTerminal nothing of it will be started any more
 */
export type GenerateApiPodStatus = (pod: V1Pod, podStatus: PodStatus, podIsTerminal: boolean) => V1PodStatus;

/** Why a container waits, as the last syncs said. Mirrors ReasonCache in pkg/kubelet/reason_cache.go. */
export interface ReasonCachePort {
  update(podUid: string, result: PodSyncResult): void;
}
