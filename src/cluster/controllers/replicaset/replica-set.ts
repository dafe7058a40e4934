import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { sameJson } from "../../../staging/apimachinery/same-json.js";
import { labelSelectorAsSelector, matchesSelector } from "../../../staging/apimachinery/selector.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import { counted } from "../../../util/text/counted.js";
import type { Controller } from "../controller.js";
import { availableAfterMs, choosePodsToDelete, isPodActive } from "../support/active-pods.js";
import { UidTrackingControllerExpectations } from "../support/controller-expectations.js";
import { controllerOf, resolveControllerRef } from "../support/controller-ref.js";
import { ControllerRefManager } from "../support/controller-ref-manager.js";
import { OwnWrites } from "../support/own-writes.js";
import { isNamespaceTerminating, PodControl } from "../support/pod-control.js";
import { podsOfOwner } from "../support/pod-indexers.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { SLOW_START_INITIAL_BATCH_SIZE, slowStartBatch } from "../support/slow-start-batch.js";
import { changesOf, decide, runSyncLoop } from "../support/sync-loop.js";
import { calculateStatus, type ReplicaSet, type ReplicaSetKind, writeStatus } from "./replica-set-utils.js";

const FILE = "pkg/controller/replicaset/replica_set.go";
const CHOICE = { file: FILE, func: "getPodsToDelete" };
/** The most pods that one sync creates or deletes; the next sync handles the rest. */
const BURST_REPLICAS = 500;

/** Mirrors pkg/controller/replicaset/replica_set.go (NewReplicaSetController). */
export function createReplicaSetController(deps: SharedDeps): Controller {
  return replicaSetController(deps, {
    kind: "ReplicaSet",
    resource: "replicasets.apps",
    controllerName: "replicaset",
    component: "replicaset-controller",
    selectorOf: ({ spec }) => spec?.selector,
  });
}

/**
 * Keeps as many pods as a ReplicaSet (or a ReplicationController) wants.
 * Mirrors pkg/controller/replicaset/replica_set.go (ReplicaSetController).
 */
export function replicaSetController(deps: SharedDeps, kind: ReplicaSetKind): Controller {
  return { name: kind.controllerName, run: (signal) => new ReplicaSetRun(deps, kind).run(signal) };
}

class ReplicaSetRun {
  readonly #sets: SharedReflector<ReplicaSet>;
  readonly #pods: SharedReflector<PodObject>;
  readonly #queue: WorkQueue;
  readonly #expectations: UidTrackingControllerExpectations;
  readonly #podControl: PodControl;
  readonly #written = new OwnWrites<ReplicaSet>();

  constructor(
    readonly deps: SharedDeps,
    readonly kind: ReplicaSetKind,
  ) {
    const { clock, client, reflectors } = deps;
    this.#sets = reflectors.of<ReplicaSet>(kind.resource);
    this.#pods = reflectors.of<PodObject>("pods");
    this.#queue = new WorkQueue(clock);
    this.#expectations = new UidTrackingControllerExpectations(clock);
    this.#podControl = new PodControl(client, deps.recorderFor(kind.component));
  }

  run(signal: AbortSignal): Promise<void> {
    const enqueue = (set: ReplicaSet) => this.#queue.add(keyOf(set));
    const sets = changesOf(this.#sets, {
      added: enqueue,
      updated: (_previous, set) => enqueue(set),
      deleted: (set) => {
        this.#expectations.delete(keyOf(set));
        enqueue(set);
      },
    });
    const pods = changesOf(this.#pods, {
      added: (pod) => this.#addPod(pod),
      updated: (previous, pod) => this.#updatePod(previous, pod),
      deleted: (pod) => this.#deletePod(pod),
    });
    const sync = (key: string) => this.#sync(key);
    const { trace } = this.deps;
    return runSyncLoop(
      { name: this.kind.controllerName, trace, queue: this.#queue, sources: [sets, pods], sync },
      signal,
    );
  }

  #ownerOf(pod: PodObject): ReplicaSet | undefined {
    const ref = controllerOf(pod);
    const { namespace } = pod.metadata;
    return ref && resolveControllerRef(this.kind.kind, ref, (name) => this.#sets.get(namespace, name));
  }

  #addPod(pod: PodObject): void {
    const owner = this.#ownerOf(pod);
    if (isTerminating(pod)) this.#deletePod(pod);
    else if (controllerOf(pod) === undefined) this.#addOrphan(pod);
    else if (owner !== undefined) {
      this.#expectations.creationObserved(keyOf(owner));
      this.#queue.add(keyOf(owner));
    }
  }

  /** It may be adopted. */
  #addOrphan(pod: PodObject): void {
    for (const set of this.#sets.list()) {
      if (set.metadata.namespace !== pod.metadata.namespace) continue;
      if (matchesSelector(this.kind.selectorOf(set), pod.metadata.labels)) this.#queue.add(keyOf(set));
    }
  }

  #updatePod(previous: PodObject, pod: PodObject): void {
    const labelsChanged = !sameJson(previous.metadata.labels ?? {}, pod.metadata.labels ?? {});
    if (isTerminating(pod)) {
      // The mark for deletion counts as the deletion: the replacement need not wait for the grace period.
      this.#deletePod(pod);
      if (labelsChanged) this.#deletePod(previous);
      return;
    }
    const [before, now] = [controllerOf(previous), controllerOf(pod)];
    const controllerChanged = before?.uid !== now?.uid;
    if (controllerChanged && before !== undefined) {
      const old = this.#ownerOf(previous);
      if (old !== undefined) this.#queue.add(keyOf(old));
    }
    if (now === undefined) {
      if (labelsChanged || controllerChanged) this.#addOrphan(pod);
      return;
    }
    const owner = this.#ownerOf(pod);
    if (owner === undefined) return;
    this.#queue.add(keyOf(owner));
    const delayMs = availableAfterMs(previous, pod, owner.spec?.minReadySeconds);
    if (delayMs !== undefined) this.#queue.addAfter(keyOf(owner), delayMs);
  }

  #deletePod(pod: PodObject): void {
    const owner = this.#ownerOf(pod);
    if (owner === undefined) return;
    this.#expectations.deletionObserved(keyOf(owner), keyOf(pod));
    this.#queue.add(keyOf(owner));
  }

  /** Mirrors syncReplicaSet. */
  async #sync(key: string): Promise<void> {
    const cached = this.#sets.byKey(key);
    if (cached === undefined) {
      this.#expectations.delete(key);
      this.#written.forget(key);
      return;
    }
    const set = this.#written.latest(cached);
    const needsSync = this.#expectations.isSatisfied(key);
    const pods = await this.#claimPods(set);
    let failure: { readonly error: unknown } | undefined;
    if (needsSync && !isTerminating(set)) failure = await this.#manageReplicas(set, pods);
    const { clock, client, trace } = this.deps;
    const status = calculateStatus(set, pods, failure, clock.now());
    const written = await writeStatus({ client, trace }, this.kind, set, status);
    if (written !== set) this.#written.remember(written);
    if (failure !== undefined) throw failure.error;
    const { replicas = 1, minReadySeconds = 0 } = written.spec ?? {};
    const { readyReplicas = 0, availableReplicas = 0 } = written.status ?? {};
    if (minReadySeconds > 0 && readyReplicas === replicas && availableReplicas !== replicas) {
      this.#queue.addAfter(key, minReadySeconds * 1000);
    }
  }

  /** Mirrors claimPods. */
  async #claimPods(set: ReplicaSet): Promise<PodObject[]> {
    const selects = labelSelectorAsSelector(this.kind.selectorOf(set));
    const manager = new ControllerRefManager<PodObject>(this.deps, {
      owner: set,
      ownerResource: this.kind.resource,
      resource: "pods",
      matches: (pod) => selects(pod.metadata.labels),
    });
    return manager.claim(podsOfOwner(this.#pods, set).filter(isPodActive));
  }

  /** @returns the failure that left it without the desired number of pods; the queue retries it */
  async #manageReplicas(set: ReplicaSet, pods: readonly PodObject[]): Promise<{ readonly error: unknown } | undefined> {
    const difference = pods.length - (set.spec?.replicas ?? 1);
    if (difference < 0) return this.#createPods(set, pods.length, Math.min(-difference, BURST_REPLICAS));
    if (difference > 0) return this.#deletePods(set, pods, Math.min(difference, BURST_REPLICAS));
    return undefined;
  }

  #createPods(set: ReplicaSet, have: number, count: number): Promise<{ readonly error: unknown } | undefined> {
    const key = keyOf(set);
    const what = `create ${counted(count, "pod")} for ${this.kind.kind} ${key}`;
    const why = `it has ${have} of ${set.spec?.replicas ?? 1} replicas`;
    const constants = [
      { name: "BurstReplicas", value: String(BURST_REPLICAS) },
      { name: "SlowStartInitialBatchSize", value: String(SLOW_START_INITIAL_BATCH_SIZE) },
    ];
    const upstream = { file: FILE, func: "manageReplicas, slowStartBatch" };
    return decide(this.deps.trace, { what, why, constants, upstream }, async () => {
      this.#expectations.expectCreations(key, count);
      const { successes, failure } = await slowStartBatch(count, SLOW_START_INITIAL_BATCH_SIZE, () =>
        this.#createPod(set),
      );
      // The watch will not show the pods that were not created.
      this.#expectations.lower(key, count - successes, 0);
      return failure;
    });
  }

  async #createPod(set: ReplicaSet): Promise<void> {
    try {
      await this.#podControl.create(set, set.spec?.template ?? {});
    } catch (error) {
      // Every creation fails until the namespace is gone, and this object with it.
      if (!isNamespaceTerminating(error)) throw error;
    }
  }

  #deletePods(
    set: ReplicaSet,
    pods: readonly PodObject[],
    count: number,
  ): Promise<{ readonly error: unknown } | undefined> {
    const { trace, clock } = this.deps;
    const chosen = choosePodsToDelete(pods, this.#relatedPods(set), count, clock.now());
    const key = keyOf(set);
    const what = `delete ${counted(count, "pod")} of ${this.kind.kind} ${key}`;
    const why = `it has ${pods.length} of ${set.spec?.replicas ?? 1} replicas`;
    const upstream = { file: FILE, func: "manageReplicas" };
    return decide(trace, { what, why, upstream }, async () => {
      this.#expectations.expectDeletions(
        key,
        chosen.map(({ pod }) => keyOf(pod)),
      );
      const deletions = chosen.map(({ pod, why: reason }) => {
        const decision = { what: `delete pod ${keyOf(pod)}`, why: reason, upstream: CHOICE };
        return decide(trace, decision, () => this.#delete(set, pod));
      });
      const failed = (await Promise.allSettled(deletions)).find((result) => result.status === "rejected");
      return failed && { error: failed.reason };
    });
  }

  async #delete(set: ReplicaSet, pod: PodObject): Promise<void> {
    let isDeleted = false;
    try {
      isDeleted = await this.#podControl.delete(set, pod.metadata.namespace, nameOf(pod));
    } finally {
      // The watch will not show a deletion that did not happen.
      if (!isDeleted) this.#expectations.deletionObserved(keyOf(set), keyOf(pod));
    }
  }

  /** Pods of all sets of the same owner, for example of all revisions of a Deployment. Mirrors getIndirectlyRelatedPods. */
  #relatedPods(set: ReplicaSet): PodObject[] {
    const owner = controllerOf(set);
    const { namespace } = set.metadata;
    const related = this.#sets.list().filter((one) => {
      if (one.metadata.namespace !== namespace) return false;
      return owner === undefined ? one.metadata.uid === set.metadata.uid : controllerOf(one)?.uid === owner.uid;
    });
    const selectors = related.map((one) => this.kind.selectorOf(one));
    const isRelated = (pod: KubeObject) => selectors.some((selector) => matchesSelector(selector, pod.metadata.labels));
    return this.#pods.list().filter((pod) => pod.metadata.namespace === namespace && isRelated(pod));
  }
}
