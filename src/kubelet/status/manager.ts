import type { KubeObject } from "../../api/meta.js";
import { asPod, type V1ContainerStatus, type V1Pod, type V1PodStatus } from "../../api/pod.js";
import { isSuccess, statusMessage } from "../../client/answers.js";
import type { KubeClient, KubeRequest, KubeResponse } from "../../client/client.js";
import { objectPath, PODS } from "../../client/paths.js";
import type { Trace } from "../../trace/trace.js";
import { AsyncQueue } from "../../util/async-queue.js";
import type { Clock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { allUntilOneEnds } from "../../util/loops.js";
import { Mutex } from "../../util/mutex.js";
import type { PodManager } from "../pod/pod-manager.js";
import { isMirrorPod, isStaticPod, podText } from "../types/pod-update.js";
import { generateContainersReadyCondition, generatePodReadyCondition } from "./generate.js";
import {
  checkContainerStateTransition,
  hasPodInitialized,
  initializedContainers,
  isPodStatusByKubeletEqual,
  mergePodStatus,
  type OwnedConditions,
  ownedConditions,
  replaceOrAppend,
  updateLastTransitionTimes,
} from "./merge.js";
import { normalizeStatus, rfc3339 } from "./normalize.js";
import { podStatusPatch } from "./patch.js";

const FILE = "pkg/kubelet/status/status_manager.go";
/** All statuses are looked through so often: what got lost on the way is sent again. */
export const STATUS_SYNC_PERIOD_MS = 10_000;
/** So many updates may wait to be sent; what does not fit is left to the next look through all. */
export const STATUS_CHANNEL_CAPACITY = 1_000;

/** A status with its version, so that an older one never overwrites a newer one. Mirrors versionedPodStatus. */
export interface VersionedPodStatus {
  readonly version: number;
  readonly podName: string;
  readonly podNamespace: string;
  readonly status: V1PodStatus;
}

/** May a pod be taken out of the API, and its phase be final? Mirrors PodDeletionSafetyProvider. */
export interface PodDeletionSafetyProvider {
  /** nothing of the pod is left on the node */
  podResourcesAreReclaimed(pod: V1Pod, status: V1PodStatus): boolean;
  podCouldHaveRunningContainers(pod: V1Pod): boolean;
}

export interface StatusManagerDeps {
  readonly client: KubeClient;
  readonly podManager: Pick<PodManager, "getPodByUid" | "getMirrorPodByPod" | "translatePodUid" | "getUidTranslations">;
  readonly podDeletionSafety: PodDeletionSafetyProvider;
  readonly clock: Clock;
  readonly trace: Trace;
}

interface SyncRequest {
  readonly podUid: string;
  readonly status: VersionedPodStatus;
}

/**
 * The truth about the status of all pods of this node, and the way it takes to the API server.
 *
 * Statuses are set at once and sent in the background, each version once and in order. What cannot be sent stays: every
 * 10 s all statuses are compared with what was sent last and with what the API server has.
 *
 * Mirrors pkg/kubelet/status/status_manager.go (manager).
 */
export class StatusManager {
  readonly #own: OwnedConditions;
  readonly #statuses = new Map<string, VersionedPodStatus>();
  readonly #channel = new AsyncQueue<SyncRequest>(STATUS_CHANNEL_CAPACITY);
  /** by the uid in the API (a mirror pod's for a static pod): the version that was written last */
  readonly #apiStatusVersions = new Map<string, number>();
  readonly #sending = new Mutex();

  constructor(
    readonly deps: StatusManagerDeps,
    readonly options: { readonly kubeVersion: string },
  ) {
    this.#own = ownedConditions(options.kubeVersion);
  }

  /** Updates that wait to be sent. */
  get queued(): number {
    return this.#channel.size;
  }

  /** uid and status of every pod. */
  statuses(): ReadonlyMap<string, VersionedPodStatus> {
    return this.#statuses;
  }

  /** The version last written, by uid in the API. */
  sentVersions(): ReadonlyMap<string, number> {
    return this.#apiStatusVersions;
  }

  /** @param podUid a mirror pod's will do as well */
  getPodStatus(podUid: string): V1PodStatus | undefined {
    return this.#statuses.get(this.deps.podManager.translatePodUid(podUid))?.status;
  }

  /** Takes a new status, and sends it in the background. A pod that is being deleted is always looked at again. */
  setPodStatus(pod: V1Pod, status: V1PodStatus): void {
    this.#update(pod, status, isDeleting(pod), "SetPodStatus");
  }

  /** @param containerId as the API writes it: `containerd://4f0c…` */
  setContainerReadiness(podUid: string, containerId: string, ready: boolean): void {
    const found = this.#findContainer(podUid, containerId, "readiness");
    if (found === undefined || (found.container.ready ?? false) === ready) return;
    const { pod } = found;
    const status = withContainer(found.status, containerId, { ready });
    const { phase, containerStatuses } = status;
    const podReady = generatePodReadyCondition(pod.spec, status.conditions, containerStatuses, phase);
    const containersReady = generateContainersReadyCondition(pod.spec, containerStatuses, phase);
    const conditions = replaceOrAppend(replaceOrAppend(status.conditions ?? [], podReady), containersReady);
    this.#update(pod, { ...status, conditions }, false, "SetContainerReadiness");
  }

  /** @param containerId as the API writes it */
  setContainerStartup(podUid: string, containerId: string, started: boolean): void {
    const found = this.#findContainer(podUid, containerId, "startup");
    if (found === undefined || found.container.started === started) return;
    const status = withContainer(found.status, containerId, { started });
    this.#update(found.pod, status, false, "SetContainerStartup");
  }

  /**
   * Gives every container of a pod that is over a final state. One whose end nobody has seen counts as failed: a pod must
   * never look successful because something was lost.
   */
  terminatePod(pod: V1Pod): void {
    const old = this.#statuses.get(pod.metadata.uid)?.status ?? pod.status;
    const { containerStatuses, initContainerStatuses } = old;
    const tried = initializedContainers(initContainerStatuses ?? []).length;
    const status = {
      ...old,
      ...(hasPodInitialized(pod) ? { containerStatuses: (containerStatuses ?? []).map(asTerminated) } : {}),
      initContainerStatuses: (initContainerStatuses ?? []).map((one, i) => (i < tried ? asTerminated(one) : one)),
    };
    this.#update(pod, status, true, "TerminatePod");
  }

  /** Forgets the statuses of all other pods. */
  removeOrphanedStatuses(podUids: ReadonlySet<string>): void {
    for (const podUid of this.#statuses.keys()) if (!podUids.has(podUid)) this.#statuses.delete(podUid);
  }

  /**
   * Sends statuses until `signal` aborts. Mirrors Start.
   * Differs: of several versions that wait only the newest is sent, as later releases do; v1.25 sends each.
   * @throws the signal's reason
   */
  async run(signal: AbortSignal): Promise<void> {
    await allUntilOneEnds(signal, [
      async (inner) => {
        for await (const { podUid, status } of this.#channel.iterate(inner)) {
          // While this one waited, a newer one may have come: that is the one to send.
          const newest = this.#statuses.get(podUid) ?? status;
          await this.#sending.run(() => this.#syncPod(podUid, newest, inner));
        }
      },
      async (inner) => {
        for (;;) {
          await this.deps.clock.sleep(STATUS_SYNC_PERIOD_MS, inner);
          await this.syncBatch(inner);
        }
      },
    ]);
    signal.throwIfAborted();
  }

  /** Sends what waits, in order, and returns. For the end of a kubelet, so that no last status is lost. */
  async drain(signal: AbortSignal): Promise<void> {
    await this.#sending.run(async () => {
      for (const { podUid, status } of this.#channel.takeAll()) await this.#syncPod(podUid, status, signal);
    });
  }

  /** Compares all statuses with what was sent and with what the API server has, and sends what differs. */
  async syncBatch(signal: AbortSignal): Promise<void> {
    await this.#sending.run(async () => {
      // What waits is older than, or the same as, what comes now.
      this.#channel.takeAll();
      for (const { podUid, status } of this.#toBeSent()) await this.#syncPod(podUid, status, signal);
    });
  }

  #toBeSent(): SyncRequest[] {
    const { podToMirror, mirrorToPod } = this.deps.podManager.getUidTranslations();
    for (const apiUid of this.#apiStatusVersions.keys()) {
      if (!this.#statuses.has(apiUid) && !mirrorToPod.has(apiUid)) this.#apiStatusVersions.delete(apiUid);
    }
    const requests: SyncRequest[] = [];
    for (const [podUid, status] of this.#statuses) {
      const apiUid = podToMirror.has(podUid) ? podToMirror.get(podUid) : podUid;
      // A static pod without a mirror pod: nobody could be told.
      if (apiUid === undefined) continue;
      if (this.#needsUpdate(apiUid, status)) requests.push({ podUid, status });
      else if (this.#needsReconcile(podUid, status.status)) {
        this.#apiStatusVersions.delete(apiUid);
        requests.push({ podUid, status });
      }
    }
    return requests;
  }

  /** @returns undefined when there is nothing that could be changed */
  #findContainer(podUid: string, containerId: string, what: string) {
    const pod = this.deps.podManager.getPodByUid(podUid);
    if (pod === undefined) return undefined;
    const ignored = (why: string) => {
      this.#decided(`ignore the ${what} of ${containerId} in ${podText(pod)}`, why, `SetContainer${capital(what)}`, 2);
      return undefined;
    };
    const cached = this.#statuses.get(podUid);
    if (cached === undefined) return ignored("the pod has not been synced yet");
    const { containerStatuses, initContainerStatuses } = cached.status;
    const all = [...(containerStatuses ?? []), ...(initContainerStatuses ?? [])];
    const container = all.find(({ containerID }) => containerID === containerId);
    return container === undefined
      ? ignored("no container of the pod has this ID")
      : { pod, status: cached.status, container };
  }

  /** Mirrors updateStatusInternal. */
  #update(pod: V1Pod, wanted: V1PodStatus, forceUpdate: boolean, func: string): void {
    const { uid, name, namespace } = pod.metadata;
    const cached = this.#statuses.get(uid);
    const old = cached?.status ?? this.deps.podManager.getMirrorPodByPod(pod)?.status ?? pod.status;
    const illegal =
      checkContainerStateTransition(
        old.containerStatuses ?? [],
        wanted.containerStatuses ?? [],
        pod.spec.restartPolicy,
      ) ??
      checkContainerStateTransition(
        old.initContainerStatuses ?? [],
        wanted.initContainerStatuses ?? [],
        pod.spec.restartPolicy,
      );
    if (illegal !== undefined) {
      this.#failed(`the status of ${podText(pod)} is not taken: ${illegal}`);
      return;
    }
    const nowMs = this.deps.clock.now();
    const { owned, shared } = this.#own;
    const conditions = updateLastTransitionTimes(wanted.conditions ?? [], old, [...owned, ...shared], nowMs);
    const startTime = old.startTime ?? wanted.startTime ?? rfc3339(nowMs);
    const status = normalizeStatus(pod, { ...wanted, conditions, startTime });
    if (cached !== undefined && !forceUpdate && isPodStatusByKubeletEqual(this.#own, cached.status, status)) return;
    const version = (cached?.version ?? 0) + 1;
    const next = { version, podName: name, podNamespace: namespace, status };
    this.#statuses.set(uid, next);
    this.#tellPhase(pod, cached?.status.phase, status.phase, func);
    this.#decided(`version ${version} of the status of ${podText(pod)}`, "it differs from the one before", func, 2);
    // A full channel is no loss: the next look through all finds the status.
    if (!this.#channel.push({ podUid: uid, status: next })) {
      this.#decided(`leave the status of ${podText(pod)} to the next batch`, "the channel is full", func, 2);
    }
  }

  /** Mirrors syncPod: reads the pod, patches what differs, and takes a pod that is over out of the API. */
  async #syncPod(podUid: string, versioned: VersionedPodStatus, signal: AbortSignal): Promise<void> {
    const { version, podName, podNamespace, status } = versioned;
    if (signal.aborted || !this.#needsUpdate(podUid, versioned)) return;
    const ref = { ...PODS, namespace: podNamespace };
    const what = `${podNamespace}/${podName}`;
    const found = await this.#request<KubeObject>({ method: "GET", path: objectPath(ref, podName) }, what, signal);
    const pod = found === undefined ? undefined : asPod(found);
    if (pod === undefined) return;
    const { uid } = pod.metadata;
    const translated = this.deps.podManager.translatePodUid(uid);
    if (translated !== podUid) {
      const why = `the API has another pod of that name (uid ${uid})`;
      this.#decided(`forget the status of ${what} (uid ${podUid})`, why, "syncPod");
      this.#statuses.delete(podUid);
      return;
    }
    const couldRun = this.deps.podDeletionSafety.podCouldHaveRunningContainers(pod);
    const merged = mergePodStatus(this.#own, pod.status, status, couldRun, this.deps.clock.now());
    const body = podStatusPatch(uid, pod.status, merged);
    let latest = pod;
    if (body !== undefined) {
      const path = objectPath(ref, podName, "status");
      const contentType = "application/strategic-merge-patch+json";
      const patched = await this.#request<KubeObject>({ method: "PATCH", path, body, contentType }, what, signal);
      if (patched === undefined) return;
      latest = asPod(patched) ?? pod;
    }
    this.#apiStatusVersions.set(uid, version);
    if (!this.#canBeDeleted(latest, status)) return;
    this.#decided(`delete ${what} from the API`, "it has ended, and nothing of it is left on the node", "syncPod");
    const options = { gracePeriodSeconds: 0, preconditions: { uid } };
    const deletion = { method: "DELETE", path: objectPath(ref, podName), body: options } as const;
    if ((await this.#request(deletion, what, signal)) !== undefined) this.#statuses.delete(podUid);
  }

  /** @returns undefined when it failed: the next batch tries again */
  async #request<T>(request: KubeRequest, what: string, signal: AbortSignal): Promise<T | undefined> {
    let answer: KubeResponse<T>;
    try {
      answer = await this.deps.client.request<T>({ ...request, signal });
    } catch (error) {
      if (signal.aborted || !(error instanceof LabError)) throw error;
      this.#failed(`the status of ${what} was not sent: ${error.message}`);
      return undefined;
    }
    if (isSuccess(answer)) return answer.body;
    // Its status is forgotten with the other orphans.
    if (answer.status === 404 && request.method === "GET") {
      this.#decided(`do not send the status of ${what}`, "the API has no such pod any more", "syncPod", 2);
    } else this.#failed(`${request.method} for the status of ${what} was refused: ${statusMessage(answer)}`);
    return undefined;
  }

  #needsUpdate(apiUid: string, { version, status }: VersionedPodStatus): boolean {
    const sent = this.#apiStatusVersions.get(apiUid);
    if (sent === undefined || sent < version) return true;
    const pod = this.deps.podManager.getPodByUid(apiUid);
    return pod !== undefined && this.#canBeDeleted(pod, status);
  }

  /** Has somebody else changed what the kubelet wrote? Mirrors needsReconcile. */
  #needsReconcile(podUid: string, status: V1PodStatus): boolean {
    let pod = this.deps.podManager.getPodByUid(podUid);
    if (pod !== undefined && isStaticPod(pod)) pod = this.deps.podManager.getMirrorPodByPod(pod);
    if (pod === undefined) return false;
    if (isPodStatusByKubeletEqual(this.#own, normalizeStatus(pod, pod.status), status)) return false;
    const why = "the API server has another status than the one that was sent: the kubelet's is the true one";
    this.#decided(`send the status of ${podText(pod)} again`, why, "needsReconcile");
    return true;
  }

  #canBeDeleted(pod: V1Pod, status: V1PodStatus): boolean {
    if (!isDeleting(pod) || isMirrorPod(pod)) return false;
    return this.deps.podDeletionSafety.podResourcesAreReclaimed(pod, status);
  }

  #tellPhase(pod: V1Pod, from: V1PodStatus["phase"], to: V1PodStatus["phase"], func: string): void {
    if (to === undefined || from === to) return;
    const before = from === undefined ? {} : { from };
    const subject = `pod ${podText(pod)}`;
    const upstream = { file: FILE, func };
    this.deps.trace.emit({ kind: "state", subject, what: "phase", ...before, to, upstream }, { actor: "kubelet" });
  }

  #decided(what: string, why: string, func: string, level: 1 | 2 = 1): void {
    const upstream = { file: FILE, func };
    this.deps.trace.emit({ kind: "decision", what, why, upstream }, { actor: "kubelet", level });
  }

  #failed(message: string): void {
    this.deps.trace.emit({ kind: "error", message, hint: "It is tried again." }, { actor: "kubelet", level: 1 });
  }
}

function isDeleting({ metadata }: V1Pod): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null;
}

function asTerminated(status: V1ContainerStatus): V1ContainerStatus {
  if (status.state?.terminated !== undefined && status.state.terminated !== null) return status;
  const message = "The container could not be located when the pod was terminated";
  return { ...status, state: { terminated: { reason: "ContainerStatusUnknown", message, exitCode: 137 } } };
}

function withContainer(status: V1PodStatus, containerId: string, change: Partial<V1ContainerStatus>): V1PodStatus {
  const changed = (statuses: V1PodStatus["containerStatuses"]) => {
    const i = statuses?.findIndex(({ containerID }) => containerID === containerId) ?? -1;
    const one = statuses?.[i];
    return statuses === undefined || statuses === null || one === undefined
      ? undefined
      : statuses.with(i, { ...one, ...change });
  };
  const containerStatuses = changed(status.containerStatuses);
  if (containerStatuses !== undefined) return { ...status, containerStatuses };
  const initContainerStatuses = changed(status.initContainerStatuses);
  return initContainerStatuses === undefined ? status : { ...status, initContainerStatuses };
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
