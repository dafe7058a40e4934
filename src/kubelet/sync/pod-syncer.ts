import { isPodPhaseTerminal, type V1Pod, type V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import type { Backoff } from "../../staging/client-go/backoff.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { messageOf } from "../../util/errors.js";
import { factFor } from "../../util/release/facts.js";
import type { KubeGenericRuntime, PullSecret } from "../container/generic-runtime.js";
import { convertPodStatusToRunningPod } from "../container/helpers.js";
import type { Pod, PodStatus } from "../container/runtime.js";
import type { PodSyncResult } from "../container/sync-result.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import type { ReasonCache } from "../kubelet-pods/reason-cache.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import type { MirrorClient } from "../pod/mirror-client.js";
import {
  NETWORK_NOT_READY_ERROR_MSG,
  type PodSyncer,
  type SyncPodWork,
  type SyncTerminatedPodWork,
  type SyncTerminatingPodWork,
} from "../podworkers/update.js";
import type { ProbeManager } from "../prober/manager.js";
import { CONFIG_FIRST_SEEN_ANNOTATION, isStaticPod } from "../types/pod-update.js";
import type { PodObjectManagers } from "../util/manager/pod-objects.js";
import type { VolumeManager } from "../volumes/volume-manager.js";
import type { PodDirs } from "./pod-dirs.js";
import { PodsObserver } from "./pods-observer.js";
import { aggregateText } from "./runtime-state.js";

export interface PodSyncerDeps {
  readonly runtime: Pick<KubeGenericRuntime, "syncPod" | "killPod" | "getPodStatus">;
  /** @param podIsTerminal no container of the pod will be started again */
  readonly generateApiPodStatus: (pod: V1Pod, podStatus: PodStatus, podIsTerminal: boolean) => V1PodStatus;
  readonly statusManager: {
    setPodStatus(pod: V1Pod, status: V1PodStatus): void;
    getPodStatus(podUid: string): V1PodStatus | undefined;
    terminatePod(pod: V1Pod): void;
  };
  readonly podWorkers: { isPodTerminationRequested(podUid: string): boolean };
  readonly runtimeState: { networkErrors(): readonly string[] };
  readonly mirrorClient: Pick<MirrorClient, "reconcile">;
  readonly reasonCache: Pick<ReasonCache, "update">;
  readonly prober: Pick<ProbeManager, "addPod" | "stopLivenessAndStartup" | "removePod">;
  readonly volumes: Pick<VolumeManager, "waitForAttachAndMount" | "waitForUnmount" | "podVolumesExist">;
  readonly objects: Pick<PodObjectManagers, "registerPod" | "unregisterPod" | "getPullSecret">;
  readonly podDirs: Pick<PodDirs, "makePodDataDirs">;
  readonly recorder: PodEventRecorder;
  readonly backOff: Backoff;
  readonly trace: Trace;
  readonly clock: Clock;
  readonly metrics?: KubeletMetrics;
  /** removes the dead containers of a deleted and terminated pod; does nothing for others */
  readonly removeDeadContainers: (podUid: string) => void;
  /** called when the runtime's state may have changed: earlier lists are out of date */
  readonly onChanged?: () => void;
}

/**
 * The sync functions of pod workers: bring the runtime to the spec, end the pod, clean up after it.
 *
 * Mirrors syncPod, syncTerminatingPod and syncTerminatedPod in pkg/kubelet/kubelet.go.
 * Differs: the kubelet creates no cgroups; no soft admission (AppArmor, seccomp on old kernels).
 */
export class KubeletPodSyncer implements PodSyncer {
  /** @param options.kubeVersion `1.25` */
  constructor(
    readonly deps: PodSyncerDeps,
    readonly options: { readonly kubeVersion: string },
    readonly observer = new PodsObserver(deps.trace),
  ) {}

  async syncPod(work: SyncPodWork, signal: AbortSignal): Promise<{ readonly isTerminal: boolean }> {
    return this.observer.syncing(work.pod, () => this.#syncPod(work, signal));
  }

  async #syncPod(work: SyncPodWork, signal: AbortSignal): Promise<{ readonly isTerminal: boolean }> {
    const { statusManager, prober, reasonCache, runtime, backOff, onChanged } = this.deps;
    const { pod, mirrorPod } = work;
    const apiPodStatus = this.deps.generateApiPodStatus(pod, work.podStatus, false);
    const podStatus = { ...work.podStatus, ips: ipsOf(apiPodStatus) };
    this.#measureStart(work, apiPodStatus);
    statusManager.setPodStatus(pod, apiPodStatus);
    if (isPodPhaseTerminal(apiPodStatus.phase)) return { isTerminal: true };

    this.#requireNetwork(pod);
    if (!this.#isEnding(pod)) this.deps.objects.registerPod(pod);
    // A failure with the mirror pod does not stop the static pod.
    if (isStaticPod(pod)) await this.deps.mirrorClient.reconcile(pod, mirrorPod, signal);
    await this.#makeDirs(pod);
    if (!this.#isEnding(pod)) await this.#mount(pod, signal);
    const pullSecrets = await this.#pullSecrets(pod, signal);
    prober.addPod(pod);

    let hasChanged = true;
    try {
      const result = await runtime.syncPod(pod, podStatus, pullSecrets, backOff, signal);
      hasChanged = hasDoneAnything(result);
      reasonCache.update(pod.metadata.uid, result);
      throwUnlessBackingOff(result);
    } finally {
      if (hasChanged) onChanged?.();
    }
    return { isTerminal: false };
  }

  /** As upstream's, the first sync of a pod counts as a start as well as the one that finds it running. */
  #measureStart({ pod, updateType }: SyncPodWork, { phase }: V1PodStatus): void {
    const { metrics, clock, statusManager } = this.deps;
    const firstSeenMs = Date.parse(pod.metadata.annotations?.[CONFIG_FIRST_SEEN_ANNOTATION] ?? "");
    if (metrics === undefined || Number.isNaN(firstSeenMs)) return;
    const elapsedMs = clock.now() - firstSeenMs;
    if (updateType === "create") metrics.observe("kubelet_pod_worker_start_duration_seconds", elapsedMs);
    const existing = statusManager.getPodStatus(pod.metadata.uid);
    const runs = existing?.phase === "Pending" && phase === "Running";
    if (existing === undefined || runs) metrics.observe("kubelet_pod_start_duration_seconds", elapsedMs);
  }

  async syncTerminatingPod(work: SyncTerminatingPodWork, signal: AbortSignal): Promise<void> {
    await this.observer.ending(work.pod, work.gracePeriodSeconds, () => this.#syncTerminatingPod(work, signal));
  }

  async #syncTerminatingPod(work: SyncTerminatingPodWork, signal: AbortSignal): Promise<void> {
    const { pod, podStatus, runningPod, gracePeriodSeconds, podStatusFunc } = work;
    const { statusManager, prober, runtime, onChanged } = this.deps;
    if (runningPod !== undefined || podStatus === undefined) {
      // Only its containers' names are known, so no hooks run, and the pod's own grace period does not apply.
      if (runningPod !== undefined) await this.#kill(pod, runningPod, gracePeriodSeconds, signal);
      return;
    }
    const status = this.deps.generateApiPodStatus(pod, podStatus, false);
    statusManager.setPodStatus(pod, podStatusFunc?.(status) ?? status);
    prober.stopLivenessAndStartup(pod);
    await this.#kill(pod, convertPodStatusToRunningPod(podStatus), gracePeriodSeconds, signal);
    prober.removePod(pod);

    // Reads the runtime, not the cache: a pod with running containers must never count as terminated.
    const { uid: podUid, name, namespace } = pod.metadata;
    const after = await runtime.getPodStatus({ podUid, name, namespace }, signal);
    const running = after.containerStatuses.filter(({ state }) => state === "running");
    onChanged?.();
    if (running.length > 0) {
      const ids = running.map(({ containerId }) => containerId).join(" ");
      throw new Error(`detected running containers after a successful KillPod, CRI violation: [${ids}]`);
    }
    if (!factFor("deletedPodsEnd", this.options.kubeVersion)) return;
    // Records how the containers ended while they exist. The pod's addresses went with its sandbox; the status keeps
    // them.
    statusManager.setPodStatus(pod, this.deps.generateApiPodStatus(pod, { ...after, ips: podStatus.ips }, true));
  }

  async syncTerminatedPod({ pod, podStatus }: SyncTerminatedPodWork, signal: AbortSignal): Promise<void> {
    const { statusManager, volumes, objects, onChanged } = this.deps;
    await this.observer.cleaningUp(pod, async () => {
      statusManager.setPodStatus(pod, this.deps.generateApiPodStatus(pod, podStatus, true));
      await volumes.waitForUnmount(pod, signal);
      objects.unregisterPod(pod);
      // The dead containers of a pod that stays in the API are kept for a while, so that their logs can be read.
      // Differs: upstream removes a deleted pod's when PLEG reports their death. Our PLEG is faster than this worker,
      // so they would be gone before their exit codes were read.
      this.deps.removeDeadContainers(pod.metadata.uid);
      statusManager.terminatePod(pod);
      onChanged?.();
    });
  }

  /** Mirrors killPod. @throws Error with the runtime's error */
  async #kill(pod: V1Pod, runningPod: Pod, gracePeriodSeconds: number | undefined, signal: AbortSignal): Promise<void> {
    try {
      await this.deps.runtime.killPod(pod, runningPod, gracePeriodSeconds, signal);
    } catch (error) {
      if (!signal.aborted) {
        this.deps.recorder.event(pod, "Warning", "FailedKillPod", `error killing pod: ${messageOf(error)}`);
      }
      throw error;
    } finally {
      this.deps.onChanged?.();
    }
  }

  /** A pod waits for the network unless it uses the host's. @throws Error in upstream's words */
  #requireNetwork(pod: V1Pod): void {
    const errors = this.deps.runtimeState.networkErrors();
    if (errors.length === 0 || pod.spec.hostNetwork === true) return;
    const text = `${NETWORK_NOT_READY_ERROR_MSG}: ${aggregateText(errors)}`;
    this.deps.recorder.event(pod, "Warning", "NetworkNotReady", text);
    throw new Error(text);
  }

  async #makeDirs(pod: V1Pod): Promise<void> {
    try {
      const made = await this.deps.podDirs.makePodDataDirs(pod.metadata.uid);
      if (made !== undefined) this.observer.madeDataDirs(pod, made);
    } catch (error) {
      const text = `error making pod data directories: ${messageOf(error)}`;
      this.deps.recorder.event(pod, "Warning", "FailedToMakePodDataDirectories", text);
      throw error;
    }
  }

  async #mount(pod: V1Pod, signal: AbortSignal): Promise<void> {
    try {
      await this.deps.volumes.waitForAttachAndMount(pod, signal);
    } catch (error) {
      signal.throwIfAborted();
      const text = `Unable to attach or mount volumes: ${messageOf(error)}`;
      this.deps.recorder.event(pod, "Warning", "FailedMount", text);
      throw error;
    }
  }

  /** Mirrors getPullSecretsForPod: missing secrets are left out, because the image may be public. */
  async #pullSecrets(pod: V1Pod, signal: AbortSignal): Promise<PullSecret[]> {
    const { objects, recorder } = this.deps;
    const { namespace } = pod.metadata;
    const refs = (pod.spec["imagePullSecrets"] ?? []) as readonly { readonly name?: string }[];
    const secrets: PullSecret[] = [];
    const failed: string[] = [];
    for (const { name = "" } of refs) {
      if (name === "") continue;
      const secret = await objects.getPullSecret(namespace, name, signal);
      if (secret !== undefined) {
        secrets.push(secret);
        continue;
      }
      failed.push(name);
      this.observer.pullSecretMissing(`${namespace}/${name}`);
    }
    if (failed.length > 0 && factFor("pullSecretEvent", this.options.kubeVersion)) {
      const what = `Unable to retrieve some image pull secrets (${failed.join(", ")})`;
      const text = `${what}; attempting to pull the image may not succeed.`;
      recorder.event(pod, "Warning", "FailedToRetrieveImagePullSecret", text);
    }
    return secrets;
  }

  #isEnding(pod: V1Pod): boolean {
    return this.deps.podWorkers.isPodTerminationRequested(pod.metadata.uid);
  }
}

/** Most syncs change nothing: the runtime's state is the same as before. */
function hasDoneAnything({ syncResults, syncError }: PodSyncResult): boolean {
  if (syncError !== undefined) return true;
  return syncResults.some(({ action, error }) => {
    return action !== "ConfigPodSandbox" && error !== "CrashLoopBackOff" && error !== "ImagePullBackOff";
  });
}

/** The addresses that the API shows: in the host's network the pod has the node's. */
function ipsOf({ podIPs, podIP }: V1PodStatus): string[] {
  const ips = (podIPs ?? []).map(({ ip }) => ip);
  return ips.length === 0 && podIP !== undefined && podIP !== "" ? [podIP] : ips;
}

/**
 * A sync that only waits for a container's back-off has not failed. Successful actions are counted as well, as upstream
 * does: so in practice such a sync fails, which makes the worker retry after its back-off of 10 s instead of the next
 * resync, and puts CrashLoopBackOff into the status.
 */
function throwUnlessBackingOff({ error: text, syncResults }: PodSyncResult): void {
  if (text === undefined) return;
  if (syncResults.every(({ error }) => error === "CrashLoopBackOff" || error === "ImagePullBackOff")) return;
  throw new Error(text);
}
