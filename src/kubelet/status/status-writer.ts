import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import { asPod, type V1Pod, type V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import { isMirrorPod } from "../../staging/apimachinery/corev1/pod-references.js";
import { isSuccess, statusMessage } from "../../staging/client-go/rest/answers.js";
import type { KubeClient, KubeRequest, KubeResponse } from "../../staging/client-go/rest/client.js";
import { objectPath, PODS } from "../../staging/client-go/rest/paths.js";
import type { Scope } from "../../trace/scope.js";
import type { Clock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import type { PodManager } from "../pod/pod-manager.js";
import { isStaticPod } from "../types/pod-update.js";
import { isPodStatusByKubeletEqual, mergePodStatus, type OwnedConditions } from "./merge.js";
import { normalizeStatus } from "./normalize.js";
import { podStatusPatch } from "./patch.js";
import type { StatusObserver } from "./status-observer.js";

/** A status with its version, so that an older one never overwrites a newer one. Mirrors versionedPodStatus. */
export interface VersionedPodStatus {
  readonly version: number;
  readonly podName: string;
  readonly podNamespace: string;
  readonly status: V1PodStatus;
  /** what set it, if a trace keeps causes */
  readonly scope?: Scope;
}

/** Reports whether a pod may be deleted from the API, and its phase be final. Mirrors PodDeletionSafetyProvider. */
export interface PodDeletionSafetyProvider {
  /** nothing of the pod is left on the node */
  podResourcesAreReclaimed(pod: V1Pod, status: V1PodStatus): boolean;
  podCouldHaveRunningContainers(pod: V1Pod): boolean;
}

export interface StatusWriterDeps {
  readonly client: KubeClient;
  readonly podManager: Pick<PodManager, "getPodByUid" | "getMirrorPodByPod" | "translatePodUid">;
  readonly podDeletionSafety: PodDeletionSafetyProvider;
  readonly clock: Clock;
}

/**
 * Writes statuses to the API server, and records the last written version of each.
 *
 * Mirrors pkg/kubelet/status/status_manager.go (syncPod, needsUpdate, needsReconcile, canBeDeleted).
 */
export class StatusWriter {
  /** by the uid in the API (a mirror pod's for a static pod) */
  readonly #versions = new Map<string, number>();
  /** the status that was last found equal to the API's, and that API status; both are immutable */
  readonly #agreed = new WeakMap<V1Pod, V1PodStatus>();

  constructor(
    readonly deps: StatusWriterDeps,
    readonly own: OwnedConditions,
    readonly observer: StatusObserver,
  ) {}

  /** The version last written, by uid in the API. */
  get versions(): ReadonlyMap<string, number> {
    return this.#versions;
  }

  /** Forgets the written version of a pod: its status is written again, or the pod is gone. */
  forget(apiUid: string): void {
    this.#versions.delete(apiUid);
  }

  /**
   * Reads the pod, patches what differs, and deletes a terminated pod from the API. The next batch retries a failure.
   * Mirrors syncPod.
   * @returns whether its status is still needed
   */
  async syncPod(podUid: string, versioned: VersionedPodStatus, signal: AbortSignal): Promise<"keep" | "forget"> {
    const { version, podName, podNamespace, status } = versioned;
    if (signal.aborted || !this.needsUpdate(podUid, versioned)) return "keep";
    const ref = { ...PODS, namespace: podNamespace };
    const what = `${podNamespace}/${podName}`;
    const found = await this.#request<KubeObject>({ method: "GET", path: objectPath(ref, podName) }, what, signal);
    const pod = found === undefined ? undefined : asPod(found);
    if (pod === undefined) return "keep";
    const { uid } = pod.metadata;
    const translated = this.deps.podManager.translatePodUid(uid);
    if (translated !== podUid) {
      this.observer.forgets(what, podUid, uid);
      return "forget";
    }
    const couldRun = this.deps.podDeletionSafety.podCouldHaveRunningContainers(pod);
    const merged = mergePodStatus(this.own, pod.status, status, couldRun, this.deps.clock.now());
    const body = podStatusPatch(uid, pod.status, merged);
    let latest = pod;
    if (body !== undefined) {
      const path = objectPath(ref, podName, "status");
      const contentType = "application/strategic-merge-patch+json";
      const patched = await this.#request<KubeObject>({ method: "PATCH", path, body, contentType }, what, signal);
      if (patched === undefined) return "keep";
      latest = asPod(patched) ?? pod;
    }
    this.#versions.set(uid, version);
    if (!this.#canBeDeleted(latest, status)) return "keep";
    this.observer.deletesPod(what);
    const options = { gracePeriodSeconds: 0, preconditions: { uid } };
    const deletion = { method: "DELETE", path: objectPath(ref, podName), body: options } as const;
    return (await this.#request(deletion, what, signal)) === undefined ? "keep" : "forget";
  }

  /** @returns undefined when it failed: the next batch tries again */
  async #request<T>(request: KubeRequest, what: string, signal: AbortSignal): Promise<T | undefined> {
    let answer: KubeResponse<T>;
    try {
      answer = await this.deps.client.request<T>({ ...request, signal });
    } catch (error) {
      if (signal.aborted || !(error instanceof LabError)) throw error;
      this.observer.notSent(what, error.message);
      return undefined;
    }
    if (isSuccess(answer)) return answer.body;
    // It is removed with the other orphans' statuses.
    if (answer.status === 404 && request.method === "GET") this.observer.podGone(what);
    else this.observer.refused(request.method, what, statusMessage(answer));
    return undefined;
  }

  /** Reports that the API server has an older version, or that the pod can be deleted. Mirrors needsUpdate. */
  needsUpdate(apiUid: string, versioned: VersionedPodStatus): boolean {
    if (!this.isSent(apiUid, versioned)) return true;
    const pod = this.deps.podManager.getPodByUid(apiUid);
    return pod !== undefined && this.#canBeDeleted(pod, versioned.status);
  }

  /** Reports that the API server has this version, or a newer one. */
  isSent(apiUid: string, { version }: VersionedPodStatus): boolean {
    const sent = this.#versions.get(apiUid);
    return sent !== undefined && sent >= version;
  }

  /** Reports that another client has changed the kubelet's part of the status. Mirrors needsReconcile. */
  needsReconcile(podUid: string, status: V1PodStatus): boolean {
    let pod = this.deps.podManager.getPodByUid(podUid);
    if (pod !== undefined && isStaticPod(pod)) pod = this.deps.podManager.getMirrorPodByPod(pod);
    if (pod === undefined || this.#agreed.get(pod) === status) return false;
    if (isPodStatusByKubeletEqual(this.own, normalizeStatus(pod, pod.status), status)) {
      this.#agreed.set(pod, status);
      return false;
    }
    this.observer.sendsAgain(pod);
    return true;
  }

  #canBeDeleted(pod: V1Pod, status: V1PodStatus): boolean {
    if (!isDeleting(pod) || isMirrorPod(pod)) return false;
    return this.deps.podDeletionSafety.podResourcesAreReclaimed(pod, status);
  }
}

/** Reports whether the pod's deletion was requested. */
export function isDeleting({ metadata }: V1Pod): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null;
}
