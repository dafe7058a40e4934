import { containersOf, type V1Pod, type V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import { isMirrorPod } from "../../staging/apimachinery/corev1/pod-references.js";
import { getPodQos } from "../../staging/apimachinery/corev1/qos.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { factFor } from "../../util/release/facts.js";
import type { PodCache } from "../container/cache.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import type { PodAdmitResult } from "../lifecycle/admit.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import type { PodManager } from "../pod/pod-manager.js";
import type { PodWorkers } from "../podworkers/pod-workers.js";
import { needToReconcilePodReadiness } from "../status/generate.js";
import type { SyncPodType } from "../types/pod-update.js";
import { filterOutInactivePods } from "./active-pods.js";
import type { ContainerDeletor } from "./container-deletor.js";
import { PodsObserver } from "./pods-observer.js";

export interface PodHandlersDeps {
  readonly podManager: PodManager;
  readonly podWorkers: Pick<PodWorkers, "updatePod" | "isPodTerminationRequested" | "isPodKnownTerminated">;
  readonly statusManager: {
    getPodStatus(podUid: string): V1PodStatus | undefined;
    setPodStatus(pod: V1Pod, status: V1PodStatus): void;
  };
  readonly podCache: Pick<PodCache, "get">;
  readonly containerDeletor: Pick<ContainerDeletor, "deleteContainersInPod">;
  readonly sourcesReady: { allReady(): boolean };
  /** Decides whether the pod may run with the active ones. Mirrors canAdmitPod. */
  readonly canAdmitPod: (activePods: readonly V1Pod[], pod: V1Pod) => Promise<PodAdmitResult>;
  readonly recorder: PodEventRecorder;
  readonly clock: Clock;
  readonly trace: Trace;
  readonly metrics?: Pick<KubeletMetrics, "count">;
}

/**
 * Handles added, changed, removed and due pods for the sync loop: updates the pod manager, and notifies their workers.
 *
 * Mirrors HandlePodAdditions, HandlePodUpdates, HandlePodRemoves, HandlePodReconcile, HandlePodSyncs and dispatchWork
 * in pkg/kubelet/kubelet.go.
 */
export class PodHandlers {
  /** @param options.kubeVersion `1.25`: a rejected pod gets that release's message */
  constructor(
    readonly deps: PodHandlersDeps,
    readonly options: { readonly kubeVersion: string },
    readonly observer = new PodsObserver(deps.trace),
  ) {}

  /** Oldest first: earlier pods have precedence for the node's resources. */
  async handlePodAdditions(pods: readonly V1Pod[]): Promise<void> {
    const { podManager, podWorkers, canAdmitPod } = this.deps;
    const startMs = this.deps.clock.now();
    for (const pod of byCreationTime(pods)) {
      const existing = podManager.getPods();
      podManager.addPod(pod);
      if (isMirrorPod(pod)) {
        this.#handleMirrorPod(pod, startMs);
        continue;
      }
      // A terminating pod was admitted before.
      if (!podWorkers.isPodTerminationRequested(pod.metadata.uid)) {
        const active = filterOutInactivePods(this.deps, existing);
        const result = await canAdmitPod(active, pod);
        if (!result.admit) {
          this.#rejectPod(pod, result.reason, result.message);
          continue;
        }
        this.observer.admitted(pod, active.length);
      }
      this.dispatchWork(pod, "create", startMs);
    }
  }

  handlePodUpdates(pods: readonly V1Pod[]): void {
    const startMs = this.deps.clock.now();
    for (const pod of pods) {
      this.deps.podManager.updatePod(pod);
      if (isMirrorPod(pod)) this.#handleMirrorPod(pod, startMs);
      else this.dispatchWork(pod, "update", startMs);
    }
  }

  handlePodRemoves(pods: readonly V1Pod[]): void {
    const startMs = this.deps.clock.now();
    for (const pod of pods) {
      this.deps.podManager.deletePod(pod);
      if (isMirrorPod(pod)) this.#handleMirrorPod(pod, startMs);
      // Housekeeping retries it.
      else this.#deletePod(pod);
    }
  }

  /** Only the status in the API has changed. */
  handlePodReconcile(pods: readonly V1Pod[]): void {
    const { podManager, podCache, containerDeletor, clock } = this.deps;
    const startMs = clock.now();
    for (const pod of pods) {
      podManager.updatePod(pod);
      if (needToReconcilePodReadiness(pod.spec, pod.status)) this.dispatchWork(pod, "sync", startMs);
      if (!isEvicted(pod)) continue;
      // The dead containers of an evicted pod are removed at once.
      const { status } = podCache.get(pod.metadata.uid);
      if (status !== undefined) containerDeletor.deleteContainersInPod(undefined, status, true);
    }
  }

  handlePodSyncs(pods: readonly V1Pod[]): void {
    const startMs = this.deps.clock.now();
    for (const pod of pods) this.dispatchWork(pod, "sync", startMs);
  }

  /** Notifies the pod's worker. @param startTimeMs Unix ms at which the change was seen */
  dispatchWork(pod: V1Pod, updateType: SyncPodType, startTimeMs: number, mirrorPod = this.#mirrorOf(pod)): void {
    const mirror = mirrorPod === undefined ? {} : { mirrorPod };
    this.observer.dispatches(pod, updateType);
    this.deps.podWorkers.updatePod({ pod, updateType, startTimeMs, ...mirror });
    if (updateType !== "create") return;
    this.deps.metrics?.count("kubelet_containers_per_pod_count", containersOf(pod).length);
  }

  #mirrorOf(pod: V1Pod): V1Pod | undefined {
    return this.deps.podManager.getMirrorPodByPod(pod);
  }

  /** A mirror pod does not run itself: its changes concern its static pod. */
  #handleMirrorPod(mirrorPod: V1Pod, startMs: number): void {
    const { podManager } = this.deps;
    const pod = podManager.getPodByMirrorPod(mirrorPod);
    // A deleted mirror pod counts as missing, so that a new one is created.
    if (pod !== undefined) this.dispatchWork(pod, "update", startMs, podManager.getMirrorPodByPod(pod));
  }

  /** Mirrors deletePod. */
  #deletePod(pod: V1Pod): void {
    if (!this.deps.sourcesReady.allReady()) {
      this.observer.sourcesNotReady(pod);
      return;
    }
    this.deps.podWorkers.updatePod({ pod, updateType: "kill" });
  }

  #rejectPod(pod: V1Pod, reason: string, message: string): void {
    const { recorder, statusManager } = this.deps;
    const { kubeVersion } = this.options;
    this.observer.rejected(pod, reason, message);
    recorder.event(pod, "Warning", reason, message);
    const qos = factFor("podRejectedKeepsQosClass", kubeVersion) ? { qosClass: getPodQos(pod.spec) } : {};
    const text = `${factFor("podRejectedMessage", kubeVersion)} ${message}`;
    statusManager.setPodStatus(pod, { phase: "Failed", reason, message: text, ...qos });
  }
}

/** Mirrors sliceutils.PodsByCreationTime. */
function byCreationTime(pods: readonly V1Pod[]): V1Pod[] {
  const timeOf = ({ metadata }: V1Pod) => Date.parse(metadata.creationTimestamp ?? "") || 0;
  return [...pods].sort((a, b) => timeOf(a) - timeOf(b));
}

/** Mirrors PodIsEvicted in pkg/kubelet/eviction/helpers.go. */
function isEvicted({ status }: V1Pod): boolean {
  return status.phase === "Failed" && status.reason === "Evicted";
}
