import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { isPodPhaseTerminal } from "../../../staging/apimachinery/api/pod.js";
import type { ApiResource } from "../../../staging/apimachinery/api/resource.js";
import { qualifiedResource } from "../../../staging/apimachinery/errors.js";
import { concurrently } from "../../../staging/apimachinery/wait.js";
import { forEachChange } from "../../../staging/client-go/informers/for-each-change.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import { messageOf } from "../../../util/errors.js";
import { constantsFor, factFor } from "../../../util/release/facts.js";
import type { Controller } from "../controller.js";
import { deletableResources } from "../support/deletable.js";
import { asController, retryReporter, type SharedDeps } from "../support/shared-deps.js";
import { type NamespaceCondition, updateConditions } from "./conditions.js";

const NAME = "namespace";
const FILE = "pkg/controller/namespace/deletion/namespaced_resources_deleter.go";
const FINALIZER = "kubernetes";

interface NamespaceObject extends KubeObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly phase?: string; readonly conditions?: readonly NamespaceCondition[] };
}

/** What one attempt left behind, counted over all resources. */
interface OrphanedObjects {
  readonly remaining: Map<string, number>;
  readonly finalizers: Map<string, number>;
  readonly errors: string[];
  /** seconds until the next attempt */
  estimateSeconds: number;
}

/**
 * Empties namespaces that are being deleted, reports in their conditions what blocks them, and removes their finalizer
 * at the end. Mirrors pkg/controller/namespace (namespace_controller.go, deletion/namespaced_resources_deleter.go).
 */
export function createNamespaceController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new NamespaceRun(deps).run(signal) };
}

class NamespaceRun {
  constructor(readonly deps: SharedDeps) {}

  async run(signal: AbortSignal): Promise<void> {
    const { clock, kubeVersion, reflectors } = this.deps;
    const namespaces = reflectors.of<NamespaceObject>("namespaces");
    const queue = new WorkQueue(clock);
    const delayMs = factFor("namespaceDeletionGracePeriod", kubeVersion);
    const watch = async (stop: AbortSignal) => {
      await forEachChange(this.deps.trace, namespaces.changes(stop), (item) => {
        if (item.type === "initDone" || item.type === "deleted" || !isTerminating(item.object)) return;
        // Other API servers can still admit new objects for a moment.
        queue.addAfter(nameOf(item.object), delayMs);
      });
    };
    const sync = (name: string) => this.#sync(namespaces, name, queue);
    const report = retryReporter(this.deps, NAME);
    await concurrently(signal, watch, (stop) => queue.run(sync, report, stop));
  }

  /** Mirrors syncNamespaceFromKey and Delete. */
  async #sync(namespaces: SharedReflector<NamespaceObject>, name: string, queue: WorkQueue): Promise<void> {
    const namespace = namespaces.byKey(name);
    if (namespace === undefined || !isTerminating(namespace)) return;
    if ((namespace.spec?.finalizers ?? []).includes(FINALIZER)) {
      const left = await this.#deleteAllContent(namespace);
      await this.#writeConditions(name, left);
      if (left.errors.length > 0) throw new Error(left.errors.join("; "));
      if (left.estimateSeconds > 0) {
        queue.addAfter(name, (Math.floor(left.estimateSeconds / 2) + 1) * 1000);
        return;
      }
    }
    await this.#finalize(name);
  }

  async #deleteAllContent(namespace: NamespaceObject): Promise<OrphanedObjects> {
    const { definitions, kubeVersion, trace } = this.deps;
    const left: OrphanedObjects = { remaining: new Map(), finalizers: new Map(), errors: [], estimateSeconds: 0 };
    const rows = deletableResources(definitions).filter(({ namespaced }) => namespaced);
    const isOrdered = factFor("orderedNamespaceDeletion", kubeVersion);
    const isPods = ({ resource, group }: ApiResource) => group === "" && resource === "pods";
    asController(trace, {
      kind: "decision",
      what: `delete everything in namespace ${nameOf(namespace)}`,
      why: isOrdered ? "it is terminating; pods go first" : "it is terminating",
      constants: constantsFor(kubeVersion, "namespaceDeletionGracePeriod"),
      upstream: { file: FILE, func: "deleteAllContent" },
    });
    const ordered = isOrdered ? [...rows.filter(isPods), ...rows.filter((row) => !isPods(row))] : rows;
    for (const row of ordered) {
      await this.#deleteContentOf(row, namespace, left);
      if (isOrdered && isPods(row) && left.remaining.size > 0) break;
    }
    return left;
  }

  /** Mirrors deleteAllContentForGroupVersionResource. */
  async #deleteContentOf(row: ApiResource, namespace: NamespaceObject, left: OrphanedObjects): Promise<void> {
    const { client } = this.deps;
    const resource = qualifiedResource(row);
    const name = nameOf(namespace);
    try {
      const objects = await client.list(resource, name);
      if (objects.length === 0) return;
      const podsEstimate = resource === "pods" ? this.#podsEstimate(objects, namespace) : 0;
      for (const object of objects) {
        await client.delete(resource, name, nameOf(object), { propagationPolicy: "Background" });
      }
      const remaining = await client.list(resource, name);
      if (remaining.length === 0) return;
      left.remaining.set(`${row.resource}.${row.group}`, remaining.length);
      let finalizerCount = 0;
      for (const finalizer of remaining.flatMap((object) => object.metadata.finalizers ?? [])) {
        finalizerCount++;
        left.finalizers.set(finalizer, (left.finalizers.get(finalizer) ?? 0) + 1);
      }
      const isExplained = podsEstimate > 0 || finalizerCount > 0;
      const estimate = podsEstimate > 0 ? podsEstimate : factFor("finalizerEstimateSeconds", this.deps.kubeVersion);
      if (!isExplained) left.errors.push(unexpected(name, row));
      left.estimateSeconds = Math.max(left.estimateSeconds, estimate);
    } catch (error) {
      left.errors.push(messageOf(error));
    }
  }

  /** The longest grace period left to its pods, in seconds; or 0. Mirrors estimateGracefulTermination. */
  #podsEstimate(pods: readonly PodObject[], namespace: NamespaceObject): number {
    let estimate = 0;
    for (const { status, spec } of pods) {
      if (isPodPhaseTerminal(status?.phase)) continue;
      estimate = Math.max(estimate, spec?.terminationGracePeriodSeconds ?? 0);
    }
    const sinceMs = this.deps.clock.now() - Date.parse(namespace.metadata.deletionTimestamp ?? "");
    return sinceMs / 1000 >= estimate ? 0 : estimate;
  }

  async #writeConditions(name: string, left: OrphanedObjects): Promise<void> {
    const { client, clock } = this.deps;
    await client.modify<NamespaceObject>(
      "namespaces",
      undefined,
      name,
      (current) => {
        const before = current.status?.conditions ?? [];
        const conditions = updateConditions(before, left, clock.now());
        return conditions === before ? current : { ...current, status: { ...current.status, conditions } };
      },
      "status",
    );
  }

  /** Removes the finalizer; the API server deletes the namespace with its last one. */
  async #finalize(name: string): Promise<void> {
    const { client, trace } = this.deps;
    const upstream = { file: FILE, func: "finalizeNamespace" };
    asController(trace, { kind: "decision", what: `let namespace ${name} go`, why: "nothing is left in it", upstream });
    await client.modify<NamespaceObject>(
      "namespaces",
      undefined,
      name,
      (current) => {
        const finalizers = current.spec?.finalizers ?? [];
        if (!finalizers.includes(FINALIZER)) return current;
        return { ...current, spec: { ...current.spec, finalizers: finalizers.filter((one) => one !== FINALIZER) } };
      },
      "finalize",
    );
  }
}

function unexpected(namespace: string, { group, version, resource }: ApiResource): string {
  return `unexpected items still remain in namespace: ${namespace} for gvr: ${group}/${version}, Resource=${resource}`;
}
