import type { KubeObject } from "../../../api/meta.js";
import { ObjectView, type ObjectViewDeps } from "../object-view.js";
import { isMirrorPod, podReferences } from "../pod-references.js";
import { fieldOf, textOf } from "../reading.js";

/** What a node may reach through its pods. */
export type ReachableKind = "secret" | "configmap" | "pvc" | "serviceaccount";

/**
 * Which nodes reach which objects by way of a pod that is bound to them.
 *
 * Mirrors plugin/pkg/auth/authorizer/node/graph.go. Differs: every path here is one step long (object <- pod <- node), so
 * a count per object and node takes the place of the graph; persistent volumes are not served and have no edges.
 */
export class NodeGraph {
  readonly pods: ObjectView;
  /** object -> node name -> number of its pods that refer to the object */
  readonly #reach = new Map<string, Map<string, number>>();

  constructor(deps: ObjectViewDeps) {
    this.pods = new ObjectView("pods", deps, (previous, next) => {
      if (previous !== undefined) this.#count(previous, -1);
      if (next !== undefined) this.#count(next, 1);
    });
  }

  reaches(nodeName: string, kind: ReachableKind, namespace: string, name: string): boolean {
    return this.#reach.get(vertex(kind, namespace, name))?.has(nodeName) === true;
  }

  #count(pod: KubeObject, step: 1 | -1): void {
    const nodeName = textOf(fieldOf(pod["spec"], "nodeName"));
    // A node makes mirror pods itself: if they gave access, it could give itself access to anything.
    if (nodeName === "" || isMirrorPod(pod)) return;
    const namespace = pod.metadata.namespace ?? "";
    const references = podReferences(pod);
    for (const name of references.secrets) this.#edge(vertex("secret", namespace, name), nodeName, step);
    for (const name of references.configMaps) this.#edge(vertex("configmap", namespace, name), nodeName, step);
    for (const name of references.persistentVolumeClaims) this.#edge(vertex("pvc", namespace, name), nodeName, step);
    const account = references.serviceAccount;
    if (account !== undefined) this.#edge(vertex("serviceaccount", namespace, account), nodeName, step);
  }

  #edge(from: string, nodeName: string, step: 1 | -1): void {
    let nodes = this.#reach.get(from);
    if (nodes === undefined) {
      nodes = new Map();
      this.#reach.set(from, nodes);
    }
    const count = (nodes.get(nodeName) ?? 0) + step;
    if (count > 0) nodes.set(nodeName, count);
    else nodes.delete(nodeName);
    if (nodes.size === 0) this.#reach.delete(from);
  }
}

function vertex(kind: ReachableKind, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}
