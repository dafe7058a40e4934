import type { V1Pod, V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import { rfc3339 } from "../../staging/apimachinery/time.js";
import { runInScope } from "../../trace/scope.js";
import type { Trace } from "../../trace/trace.js";
import { AsyncQueue } from "../../util/async/async-queue.js";
import { allUntilOneEnds } from "../../util/async/concurrency.js";
import { Mutex } from "../../util/async/mutex.js";
import { factFor } from "../../util/release/facts.js";
import type { PodManager } from "../pod/pod-manager.js";
import { podText } from "../types/pod-update.js";
import { withAllTerminated, withContainer, withFinalPhase, withReadiness } from "./container-states.js";
import {
  checkContainerStateTransition,
  isPodStatusByKubeletEqual,
  type OwnedConditions,
  ownedConditions,
  updateLastTransitionTimes,
} from "./merge.js";
import { normalizeStatus } from "./normalize.js";
import { StatusObserver } from "./status-observer.js";
import { isDeleting, StatusWriter, type StatusWriterDeps, type VersionedPodStatus } from "./status-writer.js";
import { apiUidOf, type SyncRequest, statusesToSend } from "./statuses-to-send.js";

const BATCH = { what: "write the statuses that the API server lacks", setBy: "syncPeriod" };

/** All statuses are checked at this interval, so that a lost update is sent again. */
export const STATUS_SYNC_PERIOD_MS = 10_000;
/** How many updates may wait to be sent; the next batch sends the others. */
export const STATUS_CHANNEL_CAPACITY = 1_000;

export interface StatusManagerDeps extends StatusWriterDeps {
  readonly podManager: Pick<PodManager, "getPodByUid" | "getMirrorPodByPod" | "translatePodUid" | "getUidTranslations">;
  readonly trace: Trace;
}

/**
 * The source of truth for the status of all pods of this node, and for its updates to the API server.
 *
 * Statuses are set at once and sent in the background, each version once and in order. Failed updates are not lost:
 * every 10 s all statuses are compared with what was sent last and with the API server's state.
 *
 * Mirrors pkg/kubelet/status/status_manager.go (manager).
 */
export class StatusManager {
  readonly #own: OwnedConditions;
  readonly #statuses = new Map<string, VersionedPodStatus>();
  readonly #channel = new AsyncQueue<SyncRequest>(STATUS_CHANNEL_CAPACITY);
  readonly #observer: StatusObserver;
  readonly #writer: StatusWriter;
  readonly #sending = new Mutex();

  constructor(
    readonly deps: StatusManagerDeps,
    readonly options: { readonly kubeVersion: string },
  ) {
    this.#own = ownedConditions(options.kubeVersion);
    this.#observer = new StatusObserver(deps.trace);
    this.#writer = new StatusWriter(deps, this.#own, this.#observer);
  }

  /** The number of updates that wait to be sent. */
  get queued(): number {
    return this.#channel.size;
  }

  /** uid and status of every pod. */
  statuses(): ReadonlyMap<string, VersionedPodStatus> {
    return this.#statuses;
  }

  /** The version last written, by uid in the API. */
  sentVersions(): ReadonlyMap<string, number> {
    return this.#writer.versions;
  }

  /** @param podUid of the pod or of its mirror pod */
  getPodStatus(podUid: string): V1PodStatus | undefined {
    return this.#statuses.get(this.deps.podManager.translatePodUid(podUid))?.status;
  }

  /** Sets a new status, and sends it in the background. A pod that is being deleted is always sent. */
  setPodStatus(pod: V1Pod, status: V1PodStatus): void {
    this.#update(pod, status, isDeleting(pod), "SetPodStatus");
  }

  /** @param containerId as the API writes it: `containerd://4f0c…` */
  setContainerReadiness(podUid: string, containerId: string, ready: boolean): void {
    const found = this.#findContainer(podUid, containerId, "readiness");
    if (found === undefined || (found.container.ready ?? false) === ready) return;
    this.#update(found.pod, withReadiness(found.pod, found.status, containerId, ready), false, "SetContainerReadiness");
  }

  /** @param containerId as the API writes it */
  setContainerStartup(podUid: string, containerId: string, started: boolean): void {
    const found = this.#findContainer(podUid, containerId, "startup");
    if (found === undefined || found.container.started === started) return;
    const status = withContainer(found.status, containerId, { started });
    this.#update(found.pod, status, false, "SetContainerStartup");
  }

  /**
   * Gives every container of a terminated pod a final state. A container whose end was not observed counts as failed: a
   * pod must never look successful because a status was lost. From v1.27 on its phase becomes final as well.
   */
  terminatePod(pod: V1Pod): void {
    const old = this.#statuses.get(pod.metadata.uid)?.status ?? pod.status;
    const status = withAllTerminated(pod, old);
    const ends = factFor("deletedPodsEnd", this.options.kubeVersion);
    this.#update(pod, ends ? withFinalPhase(pod, status) : status, true, "TerminatePod");
  }

  /** Removes the statuses of all other pods. */
  removeOrphanedStatuses(podUids: ReadonlySet<string>): void {
    for (const [podUid, { podNamespace, podName }] of this.#statuses) {
      if (podUids.has(podUid)) continue;
      this.#statuses.delete(podUid);
      this.#observer.removesOrphan(`${podNamespace}/${podName}`, podUid);
    }
  }

  /**
   * Sends statuses until `signal` aborts. Mirrors Start.
   * Differs: of several waiting versions only the newest is sent, as later releases do; v1.25 sends each.
   * @throws the signal's reason
   */
  async run(signal: AbortSignal): Promise<void> {
    await allUntilOneEnds(signal, [
      async (inner) => {
        for await (const { podUid, status } of this.#channel.iterate(inner)) {
          // A newer version may have come while this one waited: send that one.
          const newest = this.#statuses.get(podUid) ?? status;
          await this.#sending.run(() => this.#syncVersion({ podUid, status: newest }, inner));
        }
      },
      async (inner) => {
        for (;;) {
          await this.deps.clock.sleep(STATUS_SYNC_PERIOD_MS, inner, BATCH);
          await this.deps.trace.origin("timer", () => this.syncBatch(inner));
        }
      },
    ]);
    signal.throwIfAborted();
  }

  /**
   * Sends the waiting statuses, each version and in order, and returns: for replays of what v1.25 sends. A kubelet that ends leaves
   * them, as upstream's: the node's next kubelet generates and sends the statuses of its pods.
   */
  async drain(signal: AbortSignal): Promise<void> {
    await this.#sending.run(async () => {
      for (const request of this.#channel.takeAll()) await this.#syncVersion(request, signal);
    });
  }

  /**
   * Sends the statuses of pods that have ended, whatever was sent before: a phase that was held back while containers ran.
   * @returns the pods that may still run, or whose status was not sent
   */
  async syncEnded(pods: readonly V1Pod[], signal: AbortSignal): Promise<V1Pod[]> {
    const { podManager, podDeletionSafety } = this.deps;
    const left: V1Pod[] = [];
    await this.#sending.run(async () => {
      const { podToMirror } = podManager.getUidTranslations();
      for (const pod of pods) {
        const podUid = pod.metadata.uid;
        const apiUid = apiUidOf(podToMirror, podUid);
        const status = this.#statuses.get(podUid);
        // The pod is gone, or has no object in the API.
        if (status === undefined || apiUid === undefined || podManager.getPodByUid(podUid) === undefined) continue;
        if (!podDeletionSafety.podCouldHaveRunningContainers(pod)) {
          this.#writer.forget(apiUid);
          await this.#syncVersion({ podUid, status }, signal);
          if (this.#writer.isSent(apiUid, status) || !this.#statuses.has(podUid)) continue;
        }
        left.push(pod);
      }
    });
    return left;
  }

  /** Compares all statuses with what was sent and with the API server's state, and sends the differences. */
  async syncBatch(signal: AbortSignal): Promise<void> {
    await this.#sending.run(async () => {
      // The waiting updates are not newer than the batch.
      this.#channel.takeAll();
      const { podManager } = this.deps;
      for (const request of statusesToSend(this.#statuses, this.#writer, podManager.getUidTranslations())) {
        // A version that was sent is looked at again because of the batch, not because of what set it.
        if (request.isSent) await this.#syncPod(request, signal);
        else await this.#syncVersion(request, signal);
      }
    });
  }

  /** Sends a new version: what set it is the cause. */
  #syncVersion(request: SyncRequest, signal: AbortSignal): Promise<void> {
    return runInScope(request.status.scope, () => this.#syncPod(request, signal));
  }

  async #syncPod({ podUid, status }: SyncRequest, signal: AbortSignal): Promise<void> {
    if ((await this.#writer.syncPod(podUid, status, signal)) === "forget") this.#statuses.delete(podUid);
  }

  /** @returns undefined when there is nothing to change */
  #findContainer(podUid: string, containerId: string, what: "readiness" | "startup") {
    const pod = this.deps.podManager.getPodByUid(podUid);
    if (pod === undefined) return undefined;
    const { status } = this.#statuses.get(podUid) ?? {};
    const all = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
    const container = all.find(({ containerID }) => containerID === containerId);
    if (status !== undefined && container !== undefined) return { pod, status, container };
    this.#observer.ignoresProbe(what, containerId, pod, status !== undefined);
    return undefined;
  }

  /** Mirrors updateStatusInternal. */
  #update(pod: V1Pod, wanted: V1PodStatus, forceUpdate: boolean, func: string): void {
    const { uid, name, namespace } = pod.metadata;
    const cached = this.#statuses.get(uid);
    const old = cached?.status ?? this.deps.podManager.getMirrorPodByPod(pod)?.status ?? pod.status;
    const illegal = checkContainerStateTransition(old, wanted, pod.spec);
    if (illegal !== undefined) {
      this.#observer.statusRejected(pod, illegal);
      return;
    }
    const nowMs = this.deps.clock.now();
    const { owned, shared } = this.#own;
    const conditions = updateLastTransitionTimes(wanted.conditions ?? [], old, [...owned, ...shared], nowMs);
    const startTime = old.startTime ?? wanted.startTime ?? rfc3339(nowMs);
    const status = normalizeStatus(pod, { ...wanted, conditions, startTime });
    if (cached !== undefined && !forceUpdate && isPodStatusByKubeletEqual(this.#own, cached.status, status)) return;
    const version = (cached?.version ?? 0) + 1;
    this.#observer.phase(pod, cached?.status.phase, status.phase, func);
    const causedBy = this.#observer.newVersion(pod, version, func);
    const scope = this.deps.trace.keepScope({ causedBy, pod: podText(pod) });
    const next = { version, podName: name, podNamespace: namespace, status, ...scope };
    this.#statuses.set(uid, next);
    // A full channel is no loss: the next batch finds the status.
    if (!this.#channel.push({ podUid: uid, status: next })) this.#observer.leftToBatch(pod, func);
  }
}
