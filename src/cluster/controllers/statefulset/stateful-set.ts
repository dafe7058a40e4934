import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import type { PodObject } from "../../../staging/apimachinery/api/objects.js";
import { sameJson } from "../../../staging/apimachinery/same-json.js";
import { labelSelectorAsSelector, matchesSelector } from "../../../staging/apimachinery/selector.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import type { Controller } from "../controller.js";
import { availableAfterMs } from "../support/active-pods.js";
import { controllerOf, resolveControllerRef } from "../support/controller-ref.js";
import { ControllerRefManager } from "../support/controller-ref-manager.js";
import { ControllerHistory } from "../support/history/controller-history.js";
import { byRevision } from "../support/history/controller-revision.js";
import { OwnWrites } from "../support/own-writes.js";
import { isNamespaceTerminating } from "../support/pod-control.js";
import { podsOfOwner } from "../support/pod-indexers.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { changesOf, runSyncLoop } from "../support/sync-loop.js";
import { CLAIMS, type PersistentVolumeClaim } from "./claims.js";
import { isMemberOf, STATEFUL_SETS, type StatefulSet } from "./identity.js";
import {
  adoptOrphanRevisions,
  getStatefulSetRevisions,
  historyOwner,
  type RevisionsDeps,
  type SetRevisions,
  truncateHistory,
} from "./revisions.js";
import { StatefulPodControl } from "./stateful-pod-control.js";
import { type ControlDeps, StatefulSetPass } from "./stateful-set-control.js";
import { statusOf, writeStatus } from "./stateful-set-status.js";
import { applyRevision, replicasOf } from "./stateful-set-utils.js";

const NAME = "statefulset";

/**
 * Keeps pods with a name, a claim and an order of their own. Mirrors pkg/controller/statefulset/stateful_set.go
 * (StatefulSetController).
 */
export function createStatefulSetController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new StatefulSetRun(deps).run(signal) };
}

class StatefulSetRun {
  readonly #sets: SharedReflector<StatefulSet>;
  readonly #pods: SharedReflector<PodObject>;
  readonly #claims: SharedReflector<PersistentVolumeClaim>;
  readonly #queue: WorkQueue;
  readonly #history: ControllerHistory;
  readonly #written = new OwnWrites<StatefulSet>();
  readonly #control: ControlDeps;

  constructor(readonly deps: SharedDeps) {
    const { clock, client, trace, reflectors, kubeVersion } = deps;
    this.#sets = reflectors.of<StatefulSet>(STATEFUL_SETS);
    this.#pods = reflectors.of<PodObject>("pods");
    this.#claims = reflectors.of<PersistentVolumeClaim>(CLAIMS);
    this.#queue = new WorkQueue(clock);
    this.#history = new ControllerHistory(deps);
    const recorder = deps.recorderFor("statefulset-controller");
    const podControl = new StatefulPodControl(client, this.#claims, recorder, kubeVersion);
    this.#control = { clock, trace, recorder, podControl, waits: new Map(), kubeVersion };
  }

  run(signal: AbortSignal): Promise<void> {
    const enqueue = (set: StatefulSet) => this.#queue.add(keyOf(set));
    const sources = [
      changesOf(this.#sets, { added: enqueue, updated: (_previous, set) => enqueue(set), deleted: enqueue }),
      changesOf(this.#pods, {
        added: (pod) => this.#addPod(pod),
        updated: (previous, pod) => this.#updatePod(previous, pod),
        deleted: (pod) => this.#enqueueOwnerOf(pod),
      }),
      changesOf(this.#claims, { deleted: (claim) => this.#deleteClaim(claim) }),
      this.#history.source,
    ];
    const sync = (key: string) => this.#sync(key);
    return runSyncLoop({ name: NAME, trace: this.deps.trace, queue: this.#queue, sources, sync }, signal);
  }

  /** Differs: upstream does not follow claims, so that a pod that waits for the end of one waits for another change. */
  #deleteClaim({ metadata }: PersistentVolumeClaim): void {
    for (const set of this.#sets.list()) {
      const isNear = set.metadata.namespace === metadata.namespace;
      if (isNear && set.spec?.persistentVolumeClaimRetentionPolicy?.whenScaled === "Delete")
        this.#queue.add(keyOf(set));
    }
  }

  #ownerOf(pod: PodObject): StatefulSet | undefined {
    const ref = controllerOf(pod);
    const { namespace } = pod.metadata;
    return ref && resolveControllerRef("StatefulSet", ref, (name) => this.#sets.get(namespace, name));
  }

  #enqueueOwnerOf(pod: PodObject): void {
    const owner = this.#ownerOf(pod);
    if (owner !== undefined) this.#queue.add(keyOf(owner));
  }

  #addPod(pod: PodObject): void {
    if (controllerOf(pod) !== undefined) this.#enqueueOwnerOf(pod);
    else this.#addOrphan(pod);
  }

  /** It may be adopted. Mirrors getStatefulSetsForPod. */
  #addOrphan({ metadata }: PodObject): void {
    for (const set of this.#sets.list()) {
      if (set.metadata.namespace !== metadata.namespace) continue;
      if (matchesSelector(set.spec?.selector, metadata.labels)) this.#queue.add(keyOf(set));
    }
  }

  #updatePod(previous: PodObject, pod: PodObject): void {
    const isReowned = controllerOf(previous)?.uid !== controllerOf(pod)?.uid;
    if (isReowned) this.#enqueueOwnerOf(previous);
    if (controllerOf(pod) === undefined) {
      if (isReowned || !sameJson(previous.metadata.labels ?? {}, pod.metadata.labels ?? {})) this.#addOrphan(pod);
      return;
    }
    const owner = this.#ownerOf(pod);
    if (owner === undefined) return;
    this.#queue.add(keyOf(owner));
    const delayMs = availableAfterMs(previous, pod, owner.spec?.minReadySeconds);
    if (delayMs !== undefined) this.#queue.addAfter(keyOf(owner), delayMs);
  }

  async #sync(key: string): Promise<void> {
    const cached = this.#sets.byKey(key);
    if (cached === undefined) {
      this.#written.forget(key);
      this.#control.waits.delete(key);
      return;
    }
    const set = this.#written.latest(cached);
    try {
      await adoptOrphanRevisions(this.#revisionsDeps, set);
      await this.#updateStatefulSet(key, set, await this.#claimPods(set));
    } catch (error) {
      // Every creation fails until the namespace is gone, and this set with it.
      if (!isNamespaceTerminating(error)) throw error;
    }
  }

  get #revisionsDeps(): RevisionsDeps {
    return { history: this.#history, trace: this.deps.trace };
  }

  /** Mirrors getPodsForStatefulSet. */
  #claimPods(set: StatefulSet): Promise<PodObject[]> {
    const selects = labelSelectorAsSelector(set.spec?.selector);
    const manager = new ControllerRefManager<PodObject>(this.deps, {
      owner: set,
      ownerResource: STATEFUL_SETS,
      resource: "pods",
      matches: (pod) => selects(pod.metadata.labels) && isMemberOf(set, pod),
    });
    return manager.claim(podsOfOwner(this.#pods, set));
  }

  /** Mirrors UpdateStatefulSet. */
  async #updateStatefulSet(key: string, set: StatefulSet, pods: readonly PodObject[]): Promise<void> {
    const known = this.#history.list(historyOwner(set)).sort(byRevision);
    let revisions: SetRevisions | undefined;
    try {
      revisions = await getStatefulSetRevisions(this.#revisionsDeps, set, known);
      await this.#performUpdate(key, set, pods, revisions);
    } finally {
      await truncateHistory(this.#revisionsDeps, set, pods, known, revisions);
    }
  }

  /** The status is written also when the pass failed. Mirrors performUpdate. */
  async #performUpdate(
    key: string,
    set: StatefulSet,
    pods: readonly PodObject[],
    { current, update, collisionCount }: SetRevisions,
  ): Promise<void> {
    const currentSet = current === update ? set : applyRevision(set, current);
    const versions = { currentSet, updateSet: set, currentRevision: current, updateRevision: update };
    const pass = new StatefulSetPass(this.#control, set, versions, pods);
    try {
      await pass.run();
    } finally {
      const written = await writeStatus(this.deps, set, statusOf(set, pass.counts, collisionCount));
      if (written !== set) this.#written.remember(written);
    }
    const minReadySeconds = set.spec?.minReadySeconds ?? 0;
    if (minReadySeconds > 0 && pass.counts.availableReplicas !== replicasOf(set)) {
      this.#queue.addAfter(key, minReadySeconds * 1000);
    }
  }
}
