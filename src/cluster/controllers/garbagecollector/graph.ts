import type { KubeObject, OwnerReference } from "../../../staging/apimachinery/api/meta.js";
import { isTerminating } from "../../../staging/apimachinery/api/objects.js";
import type { ApiResource } from "../../../staging/apimachinery/api/resource.js";

export const FOREGROUND = "foregroundDeletion";
export const ORPHAN = "orphan";

/** An object of the cluster as the collector sees it. */
export interface GraphNode {
  readonly row: ApiResource;
  readonly object: KubeObject;
}

/** Reports whether it has a deletionTimestamp and waits for its dependents to go. */
export function isDeletingDependents({ object }: GraphNode): boolean {
  return isTerminating(object) && (object.metadata.finalizers ?? []).includes(FOREGROUND);
}

export function ownersOf({ object }: GraphNode): readonly OwnerReference[] {
  return object.metadata.ownerReferences ?? [];
}

/**
 * The ownership graph, by uid. Mirrors pkg/controller/garbagecollector/graph.go (uidToNode, dependents).
 * Differs: no virtual nodes. An owner that is not in the graph is looked up when its dependent is checked.
 */
export class OwnerGraph {
  readonly #nodes = new Map<string, GraphNode>();
  /** owner's uid -> uids of its dependents */
  readonly #dependents = new Map<string, Set<string>>();

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  /** @returns the node as it was before */
  put(uid: string, node: GraphNode): GraphNode | undefined {
    const before = this.#nodes.get(uid);
    if (before !== undefined) this.#unlink(uid, before);
    this.#nodes.set(uid, node);
    for (const owner of ownersOf(node)) {
      const dependents = this.#dependents.get(owner.uid);
      if (dependents === undefined) this.#dependents.set(owner.uid, new Set([uid]));
      else dependents.add(uid);
    }
    return before;
  }

  remove(uid: string): void {
    const node = this.#nodes.get(uid);
    if (node === undefined) return;
    this.#unlink(uid, node);
    this.#nodes.delete(uid);
  }

  #unlink(uid: string, node: GraphNode): void {
    for (const owner of ownersOf(node)) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
  }

  dependentsOf(uid: string): readonly GraphNode[] {
    return [...(this.#dependents.get(uid) ?? [])].flatMap((dependent) => this.#nodes.get(dependent) ?? []);
  }
}
