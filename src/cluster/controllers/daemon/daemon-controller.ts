import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import type { NodeObject } from "../../../staging/apimachinery/api/node.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { sameJson } from "../../../staging/apimachinery/same-json.js";
import { labelSelectorAsSelector, matchesSelector } from "../../../staging/apimachinery/selector.js";
import { semanticallyEqual } from "../../../staging/apimachinery/semantic-equality.js";
import { Backoff } from "../../../staging/client-go/backoff.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import type { Controller } from "../controller.js";
import { availableAfterMs } from "../support/active-pods.js";
import { ControllerExpectations } from "../support/controller-expectations.js";
import { controllerOf, resolveControllerRef } from "../support/controller-ref.js";
import { ControllerRefManager } from "../support/controller-ref-manager.js";
import { ControllerHistory } from "../support/history/controller-history.js";
import { CONTROLLER_REVISIONS, type ControllerRevision } from "../support/history/controller-revision.js";
import { OwnWrites } from "../support/own-writes.js";
import { PodControl } from "../support/pod-control.js";
import { podsOfOwner } from "../support/pod-indexers.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { changesOf, runSyncLoop } from "../support/sync-loop.js";
import { cleanupHistory, constructHistory, type HistoryDeps } from "./history.js";
import { manage } from "./manage.js";
import { nodeShouldRunDaemonPod } from "./node-should-run.js";
import { DaemonPass, type PassDeps } from "./pass.js";
import { updateDaemonSetStatus } from "./status.js";
import { rollingUpdate } from "./update.js";
import { DAEMON_SETS, type DaemonSet, REVISION_HASH } from "./util/daemonset-util.js";

const NAME = "daemonset";
/** How long failed pods of a node are left, doubled with each. */
const FAILED_PODS_BACKOFF = { initialMs: 1_000, maxMs: 15 * 60_000 };

/**
 * Keeps one pod of a DaemonSet on each node that it wants.
 * Mirrors pkg/controller/daemon/daemon_controller.go (DaemonSetsController).
 */
export function createDaemonSetsController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new DaemonSetsRun(deps).run(signal) };
}

class DaemonSetsRun {
  readonly #sets: SharedReflector<DaemonSet>;
  readonly #revisions: SharedReflector<ControllerRevision>;
  readonly #pods: SharedReflector<PodObject>;
  readonly #nodes: SharedReflector<NodeObject>;
  readonly #queue: WorkQueue;
  readonly #passDeps: PassDeps & HistoryDeps;

  constructor(readonly deps: SharedDeps) {
    const { client, clock, trace, reflectors } = deps;
    this.#sets = reflectors.of<DaemonSet>(DAEMON_SETS);
    this.#revisions = reflectors.of<ControllerRevision>(CONTROLLER_REVISIONS);
    this.#pods = reflectors.of<PodObject>("pods");
    this.#nodes = reflectors.of<NodeObject>("nodes");
    this.#queue = new WorkQueue(clock);
    const recorder = deps.recorderFor("daemonset-controller");
    this.#passDeps = {
      client,
      clock,
      trace,
      recorder,
      podControl: new PodControl(client, recorder),
      expectations: new ControllerExpectations(clock),
      failedPodsBackoff: new Backoff(clock, FAILED_PODS_BACKOFF),
      written: new OwnWrites<DaemonSet>(),
      history: new ControllerHistory(deps),
      syncAfter: (set, delayMs) => this.#queue.addAfter(keyOf(set), delayMs),
      claimPods: (set) => this.#claimPods(set),
    };
  }

  run(signal: AbortSignal): Promise<void> {
    const enqueue = (set: DaemonSet) => this.#queue.add(keyOf(set));
    const sources = [
      changesOf(this.#sets, {
        added: enqueue,
        updated: (_previous, set) => enqueue(set),
        deleted: (set) => {
          this.#passDeps.expectations.delete(keyOf(set));
          enqueue(set);
        },
      }),
      changesOf(this.#revisions, {
        added: (revision) => this.#addRevision(revision),
        updated: (previous, revision) => this.#updateOwned(previous, revision),
        deleted: (revision) => this.#enqueueOwnerOf(revision),
      }),
      changesOf(this.#pods, {
        added: (pod) => this.#addPod(pod),
        updated: (previous, pod) => this.#updatePod(previous, pod),
        deleted: (pod) => this.#deletePod(pod),
      }),
      changesOf(this.#nodes, {
        added: (node) => this.#addNode(node),
        updated: (previous, node) => this.#updateNode(previous, node),
      }),
    ];
    const sync = (key: string) => this.#sync(key);
    return runSyncLoop({ name: NAME, trace: this.deps.trace, queue: this.#queue, sources, sync }, signal);
  }

  #ownerOf(object: KubeObject): DaemonSet | undefined {
    const ref = controllerOf(object);
    const { namespace } = object.metadata;
    return ref && resolveControllerRef("DaemonSet", ref, (name) => this.#sets.get(namespace, name));
  }

  #enqueueOwnerOf(object: KubeObject): void {
    const owner = this.#ownerOf(object);
    if (owner !== undefined) this.#queue.add(keyOf(owner));
  }

  /** A set may adopt it. Mirrors getDaemonSetsForPod and getDaemonSetsForHistory. */
  #addOrphan({ metadata }: KubeObject): void {
    for (const set of this.#sets.list()) {
      if (set.metadata.namespace !== metadata.namespace) continue;
      if (matchesSelector(set.spec?.selector, metadata.labels)) this.#queue.add(keyOf(set));
    }
  }

  #addRevision(revision: ControllerRevision): void {
    if (controllerOf(revision) === undefined && !isTerminating(revision)) this.#addOrphan(revision);
  }

  /** Mirrors updateHistory. */
  #updateOwned(previous: KubeObject, object: KubeObject): void {
    const isReowned = controllerOf(previous)?.uid !== controllerOf(object)?.uid;
    if (isReowned) this.#enqueueOwnerOf(previous);
    if (controllerOf(object) !== undefined) this.#enqueueOwnerOf(object);
    else if (isReowned || !sameJson(previous.metadata.labels ?? {}, object.metadata.labels ?? {})) {
      this.#addOrphan(object);
    }
  }

  #addPod(pod: PodObject): void {
    if (isTerminating(pod)) this.#deletePod(pod);
    else if (controllerOf(pod) === undefined) this.#addOrphan(pod);
    else {
      const owner = this.#ownerOf(pod);
      if (owner === undefined) return;
      this.#passDeps.expectations.creationObserved(keyOf(owner));
      this.#queue.add(keyOf(owner));
    }
  }

  #updatePod(previous: PodObject, pod: PodObject): void {
    if (isTerminating(pod)) {
      // The mark for deletion counts as the deletion: what follows need not wait for the grace period.
      this.#deletePod(pod);
      return;
    }
    this.#updateOwned(previous, pod);
    const owner = this.#ownerOf(pod);
    if (owner === undefined) return;
    const delayMs = availableAfterMs(previous, pod, owner.spec?.minReadySeconds);
    if (delayMs !== undefined) this.#queue.addAfter(keyOf(owner), delayMs);
  }

  #deletePod(pod: PodObject): void {
    const owner = this.#ownerOf(pod);
    if (owner === undefined) return;
    this.#passDeps.expectations.deletionObserved(keyOf(owner));
    this.#queue.add(keyOf(owner));
  }

  #addNode(node: NodeObject): void {
    for (const set of this.#sets.list()) {
      if (nodeShouldRunDaemonPod(set, node).shouldRun) this.#queue.add(keyOf(set));
    }
  }

  /** Only labels and taints count; a heartbeat changes neither. */
  #updateNode(previous: NodeObject, node: NodeObject): void {
    const relevant = ({ metadata, spec }: NodeObject) => [metadata.labels ?? {}, spec?.taints ?? []];
    if (sameJson(relevant(previous), relevant(node))) return;
    for (const set of this.#sets.list()) {
      const [before, now] = [nodeShouldRunDaemonPod(set, previous), nodeShouldRunDaemonPod(set, node)];
      const isSame = before.shouldRun === now.shouldRun && before.shouldContinueRunning === now.shouldContinueRunning;
      if (!isSame) this.#queue.add(keyOf(set));
    }
  }

  /** Mirrors getDaemonPods. */
  #claimPods(set: DaemonSet): Promise<PodObject[]> {
    const selects = labelSelectorAsSelector(set.spec?.selector);
    const manager = new ControllerRefManager<PodObject>(this.deps, {
      owner: set,
      ownerResource: DAEMON_SETS,
      resource: "pods",
      matches: (pod) => selects(pod.metadata.labels),
    });
    return manager.claim(podsOfOwner(this.#pods, set));
  }

  /** Mirrors syncDaemonSet. */
  async #sync(key: string): Promise<void> {
    const { expectations, failedPodsBackoff, recorder, written } = this.#passDeps;
    failedPodsBackoff.gc();
    const cached = this.#sets.byKey(key);
    if (cached === undefined) {
      expectations.delete(key);
      written.forget(key);
      return;
    }
    const set = written.latest(cached);
    if (semanticallyEqual(set.spec?.selector, {})) {
      const message = "This daemon set is selecting all pods. A non-empty selector is required.";
      recorder.event(referenceTo(set), "Warning", "SelectingAll", message);
      return;
    }
    // Its revisions may be gone before its pods, so that not even a status can be computed.
    if (isTerminating(set)) return;
    const { current, old } = await constructHistory(this.#passDeps, set);
    const hash = current.metadata.labels?.[REVISION_HASH] ?? "";
    const pass = new DaemonPass(this.#passDeps, set, this.#nodes.list(), hash);
    if (!expectations.isSatisfied(key)) return updateDaemonSetStatus(pass, false);
    await this.#update(pass, old).catch(async (error: unknown) => {
      // The first failure matters more than that of the status.
      await updateDaemonSetStatus(pass, true).catch(() => undefined);
      throw error;
    });
    await updateDaemonSetStatus(pass, true);
  }

  /** Mirrors updateDaemonSet. */
  async #update(pass: DaemonPass, old: readonly ControllerRevision[]): Promise<void> {
    await manage(pass);
    const isRolling = pass.set.spec?.updateStrategy?.type === "RollingUpdate";
    if (isRolling && this.#passDeps.expectations.isSatisfied(pass.key)) await rollingUpdate(pass);
    await cleanupHistory(this.#passDeps, pass, old);
  }
}
