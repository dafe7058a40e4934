import type { V1PersistentVolume, V1Pod, V1VolumeAttachment } from "@kubernetes/client-node";
import type { KubeObject } from "../../../apimachinery/api/meta.js";
import { isMirrorPod, podReferences } from "../../../apimachinery/corev1/pod-references.js";
import { StatusError } from "../../../apimachinery/errors.js";
import type { Wire } from "../../../apimachinery/wire.js";
import type { Registry } from "../../registry/registry.js";
import { ObjectView, type ObjectViewDeps } from "../object-view.js";

/** The kinds of objects that pods refer to by name. */
type ReferredKind = "secret" | "configmap" | "pvc" | "serviceaccount" | "pod";

/** What a node can reach: its pods, what they refer to, volumes through their claims (pv), and its attachments (va). */
export type ReachableKind = ReferredKind | "pv" | "va";

/**
 * Which nodes reach which objects through a pod that is bound to them.
 *
 * Mirrors plugin/pkg/auth/authorizer/node/graph.go. Differs: nearly every path has a single step (object <- pod <- node),
 * so a count per object and node replaces the graph; volumes and attachments are looked up on each request, and the
 * secrets that volume drivers name are not reachable.
 */
export class NodeGraph {
  readonly pods: ObjectView;
  readonly #registry: () => Registry;
  /** object -> node name -> the number of its pods that refer to the object */
  readonly #reach = new Map<string, Map<string, number>>();

  constructor(deps: ObjectViewDeps) {
    this.#registry = deps.registry;
    this.pods = new ObjectView("pods", deps, (previous, next) => {
      if (previous !== undefined) this.#count(previous as Wire<V1Pod>, -1);
      if (next !== undefined) this.#count(next as Wire<V1Pod>, 1);
    });
  }

  /** Returns false only after the view has caught up with the store. */
  async reaches(nodeName: string, kind: ReachableKind, namespace: string, name: string): Promise<boolean> {
    if (kind === "va") {
      const attachment = (await this.#get("volumeattachments.storage.k8s.io", name)) as
        | Wire<V1VolumeAttachment>
        | undefined;
      return attachment?.spec.nodeName === nodeName;
    }
    if (kind === "pv") {
      const volume = (await this.#get("persistentvolumes", name)) as Wire<V1PersistentVolume> | undefined;
      const { name: claimName = "", namespace: claimNamespace = "" } = volume?.spec?.claimRef ?? {};
      return claimName !== "" && this.reaches(nodeName, "pvc", claimNamespace, claimName);
    }
    const hasEdge = () => this.#reach.get(vertex(kind, namespace, name))?.has(nodeName) === true;
    if (hasEdge()) return true;
    await this.pods.catchUp();
    return hasEdge();
  }

  async #get(resource: string, name: string): Promise<KubeObject | undefined> {
    try {
      return await this.#registry().store(resource).get(undefined, name);
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  }

  #count(pod: Wire<V1Pod>, step: 1 | -1): void {
    const nodeName = pod.spec?.nodeName ?? "";
    if (nodeName === "") return;
    const { namespace = "", name: podName = "" } = pod.metadata;
    this.#edge(vertex("pod", namespace, podName), nodeName, step);
    // A node creates its mirror pods. If they gave access, it could give itself access to any object.
    if (isMirrorPod(pod)) return;
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

function vertex(kind: ReferredKind, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}
