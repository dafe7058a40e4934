import type { KubeObject, OwnerReference } from "../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf } from "../../../staging/apimachinery/api/objects.js";
import { type ApiResource, groupVersion } from "../../../staging/apimachinery/api/resource.js";
import { qualifiedResource } from "../../../staging/apimachinery/errors.js";
import { concurrently } from "../../../staging/apimachinery/wait.js";
import { forEachChange } from "../../../staging/client-go/informers/for-each-change.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import { untilAborted } from "../../../util/async/concurrency.js";
import { remember } from "../../../util/collections/lru.js";
import { defined } from "../../../util/defined.js";
import type { Controller } from "../controller.js";
import { deletableResources } from "../support/deletable.js";
import { asController, retryReporter, type SharedDeps } from "../support/shared-deps.js";
import { FOREGROUND, type GraphNode, isDeletingDependents, ORPHAN, OwnerGraph, ownersOf } from "./graph.js";

const NAME = "garbagecollector";
const STRATEGIC_MERGE = "application/strategic-merge-patch+json";
const MERGE = "application/merge-patch+json";
/** Between a watch that ended and the next one. */
const REWATCH_DELAY_MS = 100;
const FILE = "pkg/controller/garbagecollector/garbagecollector.go";

/**
 * Deletes objects whose owners are gone: the lease and the mirror pods of a deleted node. Also completes foreground and
 * orphan deletions, which the API server only marks with finalizers.
 *
 * Mirrors pkg/controller/garbagecollector/garbagecollector.go, graph_builder.go, patch.go and operations.go.
 */
export function createGarbageCollector(deps: SharedDeps): Controller {
  const recorder = deps.recorderFor("garbage-collector-controller");
  return { name: NAME, run: (signal) => new CollectorRun(deps, recorder).run(signal) };
}

interface ClassifiedOwners {
  readonly solid: readonly OwnerReference[];
  readonly dangling: readonly OwnerReference[];
  /** owners that wait until this object is gone */
  readonly waiting: readonly OwnerReference[];
}

class CollectorRun {
  readonly #deps: SharedDeps;
  readonly #recorder: EventRecorder;
  readonly #rows: readonly ApiResource[];
  readonly #graph = new OwnerGraph();
  /** Owners known to be gone: thousands of dependents cost one look at their owner. Mirrors absentOwnerCache. */
  readonly #absentOwners = new Map<string, true>();
  readonly #toDelete: WorkQueue;
  readonly #toOrphan: WorkQueue;

  constructor(deps: SharedDeps, recorder: EventRecorder) {
    this.#deps = deps;
    this.#recorder = recorder;
    // Events are numerous and own nothing. Mirrors DefaultIgnoredResources.
    this.#rows = deletableResources(deps.definitions).filter(({ resource }) => resource !== "events");
    this.#toDelete = new WorkQueue(deps.clock);
    this.#toOrphan = new WorkQueue(deps.clock);
  }

  async run(signal: AbortSignal): Promise<void> {
    const report = retryReporter(this.#deps, NAME);
    await concurrently(
      signal,
      (stop: AbortSignal) => this.#watchCustom(stop),
      ...this.#rows.map((row) => (stop: AbortSignal) => this.#watch(row, stop)),
      async (stop) => {
        const { reflectors } = this.#deps;
        await Promise.all(this.#rows.map((row) => reflectors.of(qualifiedResource(row)).synced(stop)));
        await this.#toDelete.run((uid) => this.#attemptToDelete(uid), report, stop);
      },
      (stop) => this.#toOrphan.run((uid) => this.#attemptToOrphan(uid), report, stop),
    );
  }

  /** Watches custom resources, which come and go. Mirrors Sync, which upstream runs every 30 s. */
  async #watchCustom(signal: AbortSignal): Promise<void> {
    const watched = new Map<ApiResource, AbortController>();
    const running = new Set<Promise<void>>();
    const sync = () => {
      if (signal.aborted) return;
      const rows = deletableResources(this.#deps.definitions).filter(({ custom }) => custom !== undefined);
      for (const [row, stop] of watched) {
        if (rows.includes(row)) continue;
        stop.abort();
        watched.delete(row);
      }
      for (const row of rows) {
        if (watched.has(row)) continue;
        const stop = new AbortController();
        watched.set(row, stop);
        const watching: Promise<void> = this.#watchUntilGone(row, AbortSignal.any([signal, stop.signal])).finally(() =>
          running.delete(watching),
        );
        running.add(watching);
      }
    };
    this.#deps.onDefinitions?.(sync);
    sync();
    await untilAborted(signal);
    await Promise.all(running);
  }

  /** A new version of the definition ends the watch. */
  async #watchUntilGone(row: ApiResource, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#watch(row, signal).catch(() => undefined);
      await this.#deps.clock.sleep(REWATCH_DELAY_MS, signal).catch(() => undefined);
    }
  }

  /** Mirrors processGraphChanges. */
  async #watch(row: ApiResource, signal: AbortSignal): Promise<void> {
    const reflector = this.#deps.reflectors.of(qualifiedResource(row));
    await reflector.synced(signal);
    const changes = reflector.changes(signal, { onlyNew: true });
    for (const object of reflector.list()) this.#learn({ row, object });
    await forEachChange(this.#deps.trace, changes, (item) => {
      if (item.type === "initDone") return;
      if (item.type === "deleted") this.#forget({ row, object: item.object });
      else this.#learn({ row, object: item.object });
    });
  }

  #learn(node: GraphNode): void {
    const { uid } = node.object.metadata;
    if (uid === undefined) return;
    const before = this.#graph.put(uid, node);
    const finalizers = node.object.metadata.finalizers ?? [];
    if (isTerminating(node.object)) {
      if (finalizers.includes(ORPHAN)) this.#toOrphan.add(uid);
      if (isDeletingDependents(node)) {
        for (const dependent of this.#graph.dependentsOf(uid)) this.#queue(dependent);
        this.#toDelete.add(uid);
      }
    }
    const isNews = before === undefined || JSON.stringify(ownersOf(before)) !== JSON.stringify(ownersOf(node));
    if (isNews && ownersOf(node).length > 0) this.#toDelete.add(uid);
    // Check an owner that waits for its blocking dependents again when one of them drops its reference.
    if (isNews && before !== undefined) for (const owner of ownersOf(before)) this.#wakeWaitingOwner(owner.uid);
  }

  #forget(node: GraphNode): void {
    const { uid } = node.object.metadata;
    if (uid === undefined) return;
    this.#graph.remove(uid);
    this.#toDelete.cancel(uid);
    this.#toOrphan.cancel(uid);
    const dependents = this.#graph.dependentsOf(uid);
    if (dependents.length > 0) remember(this.#absentOwners, absentOwnerKey(node), true);
    for (const dependent of dependents) this.#queue(dependent);
    for (const owner of ownersOf(node)) this.#wakeWaitingOwner(owner.uid);
  }

  #queue({ object }: GraphNode): void {
    if (object.metadata.uid !== undefined) this.#toDelete.add(object.metadata.uid);
  }

  #wakeWaitingOwner(uid: string): void {
    const owner = this.#graph.get(uid);
    if (owner !== undefined && isDeletingDependents(owner)) this.#toDelete.add(uid);
  }

  /** Mirrors attemptToDeleteItem. */
  async #attemptToDelete(uid: string): Promise<void> {
    const node = this.#graph.get(uid);
    if (node === undefined || (isTerminating(node.object) && !isDeletingDependents(node))) return;
    const { client } = this.#deps;
    const latest = await client.get(qualifiedResource(node.row), node.object.metadata.namespace, nameOf(node.object));
    if (latest === undefined || latest.metadata.uid !== uid) return;
    if (isDeletingDependents(node)) {
      await this.#processDeletingDependents(uid, node);
      return;
    }
    const owners = latest.metadata.ownerReferences ?? [];
    if (owners.length === 0) return;
    const { solid, dangling, waiting } = await this.#classify(node, owners);
    if (solid.length > 0) {
      await this.#dropOwners(node, [...dangling, ...waiting]);
      return;
    }
    const dependents = this.#graph.dependentsOf(uid);
    const hasDependents = dependents.length > 0;
    // Its owner waits for it, and it would wait for its owner: two objects that own each other would never go.
    if (waiting.length > 0 && dependents.some(isDeletingDependents)) await this.#unblockOwners(node);
    const owner = owners.map(({ kind, name }) => `${kind} ${name}`).join(", ");
    if (waiting.length > 0 && hasDependents) await this.#delete(node, "Foreground", `its owner ${owner} waits for it`);
    else await this.#delete(node, policyOf(latest), `its owner ${owner} is ${waiting.length > 0 ? "going" : "gone"}`);
  }

  /** Mirrors classifyReferences. */
  async #classify(node: GraphNode, owners: readonly OwnerReference[]): Promise<ClassifiedOwners> {
    const solid: OwnerReference[] = [];
    const dangling: OwnerReference[] = [];
    const waiting: OwnerReference[] = [];
    for (const owner of owners) {
      const found = await this.#findOwner(node, owner);
      if (found === "absent") dangling.push(owner);
      else if (found !== "unknown" && isDeletingDependents(found)) waiting.push(owner);
      else solid.push(owner);
    }
    return { solid, dangling, waiting };
  }

  /** Mirrors isDangling. `unknown`: the reference cannot be resolved, so nothing is deleted. */
  async #findOwner(node: GraphNode, owner: OwnerReference): Promise<GraphNode | "absent" | "unknown"> {
    const known = this.#graph.get(owner.uid);
    const namespace = node.object.metadata.namespace;
    if (known !== undefined) {
      const ownerNamespace = known.object.metadata.namespace;
      if (ownerNamespace === undefined || ownerNamespace === namespace) return known;
    }
    const row = this.#deps.definitions.find(
      ({ kind, group, version, virtual }) =>
        virtual !== true && kind === owner.kind && groupVersion({ group, version }) === owner.apiVersion,
    );
    if (row === undefined) return "unknown";
    if (row.namespaced && namespace === undefined) {
      this.#reportInvalidNamespace(node, owner);
      return "unknown";
    }
    const where = row.namespaced ? namespace : undefined;
    const { name, uid } = owner;
    const key = absentOwnerKey({
      row,
      object: {
        apiVersion: owner.apiVersion,
        kind: owner.kind,
        metadata: { name, uid, ...defined({ namespace: where }) },
      },
    });
    if (this.#absentOwners.has(key)) return "absent";
    const object = await this.#deps.client.get(qualifiedResource(row), where, name);
    if (object?.metadata.uid === uid) return { row, object };
    remember(this.#absentOwners, key, true);
    return "absent";
  }

  /** Mirrors reportInvalidNamespaceOwnerRef. */
  #reportInvalidNamespace({ row, object }: GraphNode, owner: OwnerReference): void {
    const about = {
      apiVersion: groupVersion(row),
      kind: row.kind,
      name: nameOf(object),
      ...(object.metadata.uid === undefined ? {} : { uid: object.metadata.uid }),
    };
    const reference = `[${owner.apiVersion}/${owner.kind}, namespace: , name: ${owner.name}, uid: ${owner.uid}]`;
    const message = `ownerRef ${reference} does not exist in namespace ""`;
    this.#recorder.event(about, "Warning", "OwnerRefInvalidNamespace", message);
  }

  /** Removes the owner's finalizer once no dependent blocks it. Mirrors processDeletingDependentsItem. */
  async #processDeletingDependents(uid: string, node: GraphNode): Promise<void> {
    const blocking = this.#graph
      .dependentsOf(uid)
      .filter((dependent) =>
        ownersOf(dependent).some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
      );
    if (blocking.length === 0) {
      await this.#removeFinalizer(node, FOREGROUND);
      return;
    }
    for (const dependent of blocking) if (!isDeletingDependents(dependent)) this.#queue(dependent);
  }

  /** Mirrors attemptToOrphan: removes the owner references of the dependents, then the owner's finalizer. */
  async #attemptToOrphan(uid: string): Promise<void> {
    const node = this.#graph.get(uid);
    if (node === undefined || !isTerminating(node.object)) return;
    if (!(node.object.metadata.finalizers ?? []).includes(ORPHAN)) return;
    for (const dependent of this.#graph.dependentsOf(uid)) {
      await this.#dropOwners(
        dependent,
        ownersOf(dependent).filter((owner) => owner.uid === uid),
      );
    }
    await this.#removeFinalizer(node, ORPHAN);
  }

  /** The uid keeps the patch from an object that has replaced the dependent. Mirrors GenerateDeleteOwnerRefStrategicMergeBytes. */
  async #dropOwners(node: GraphNode, owners: readonly OwnerReference[]): Promise<void> {
    if (owners.length === 0) return;
    await this.#patchOwners(
      node,
      owners.map(({ uid }) => ({ $patch: "delete", uid })),
    );
  }

  /** Mirrors unblockOwnerReferencesStrategicMergePatch in patch.go. */
  async #unblockOwners(node: GraphNode): Promise<void> {
    const blocking = ownersOf(node).filter(({ blockOwnerDeletion }) => blockOwnerDeletion === true);
    await this.#patchOwners(
      node,
      blocking.map((owner) => ({ ...owner, blockOwnerDeletion: false })),
    );
  }

  /** Merges by the owners' uid. Differs: every kind here has merge keys, so that no JSON merge patch follows. */
  async #patchOwners({ row, object }: GraphNode, ownerReferences: readonly object[]): Promise<void> {
    const { namespace, uid } = object.metadata;
    const body = { metadata: { uid, ownerReferences } };
    await this.#deps.client.patch(qualifiedResource(row), namespace, nameOf(object), STRATEGIC_MERGE, body);
  }

  /**
   * A list of texts has no merge key: the patch has what is left of it, and the version it was read from.
   * Mirrors operations.go (removeFinalizer). Differs: after a conflict the queue tries again, as upstream's does after four tries.
   */
  async #removeFinalizer({ row, object }: GraphNode, finalizer: string): Promise<void> {
    const { client } = this.#deps;
    const { namespace, uid } = object.metadata;
    const latest = await client.get(qualifiedResource(row), namespace, nameOf(object));
    const { finalizers: before = [], resourceVersion } = latest?.metadata ?? {};
    if (latest?.metadata.uid !== uid || !before.includes(finalizer)) return;
    const left = before.filter((one) => one !== finalizer);
    const body = { metadata: { resourceVersion, finalizers: left.length === 0 ? null : left } };
    await client.patch(qualifiedResource(row), namespace, nameOf(object), MERGE, body);
  }

  async #delete({ row, object }: GraphNode, propagationPolicy: string, why: string): Promise<void> {
    const { client, trace } = this.#deps;
    const { namespace, uid } = object.metadata;
    const cause = asController(trace, {
      kind: "decision",
      what: `delete ${row.singular} ${keyOf(object)}`,
      why,
      upstream: { file: FILE, func: "attemptToDeleteItem" },
    });
    const preconditions = uid === undefined ? {} : { preconditions: { uid } };
    const options = { propagationPolicy, ...preconditions };
    await trace.because(cause, () => client.delete(qualifiedResource(row), namespace, nameOf(object), options));
  }
}

function absentOwnerKey({ row, object }: GraphNode): string {
  return `${qualifiedResource(row)} ${keyOf(object)} ${object.metadata.uid}`;
}

/** The policy that the object's own finalizers request; otherwise Background. */
function policyOf({ metadata }: KubeObject): string {
  const finalizers = metadata.finalizers ?? [];
  if (finalizers.includes(ORPHAN)) return "Orphan";
  return finalizers.includes(FOREGROUND) ? "Foreground" : "Background";
}
