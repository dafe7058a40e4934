import type { V1PersistentVolume, V1Pod, V1VolumeAttachment } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { FROM_CACHE } from "../../../../staging/apimachinery/api/options.js";
import { isMirrorPod, podReferences } from "../../../../staging/apimachinery/corev1/pod-references.js";
import { StatusError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import type { Registry } from "../../registry/rest/registry.js";
import { ObjectView, type ObjectViewDeps } from "../object-view.js";

/** The kinds of objects that pods refer to by name. */
type ReferredKind = "secret" | "configmap" | "pvc" | "serviceaccount" | "pod";

/** What a node can reach: its pods, what they refer to, volumes through their claims (pv), and its attachments (va). */
export type ReachableKind = ReferredKind | "pv" | "va";

/**
 * Which nodes reach which objects through a pod that is bound to them.
 *
 * Mirrors plugin/pkg/auth/authorizer/node/graph.go. Differs: nearly every path has a single step (object <- pod <- node),
 * so the pods per object and node replace the graph; volumes and attachments are looked up on each request, and the
 * secrets that volume drivers name are not reachable.
 */
export class NodeGraph {
  readonly pods: ObjectView;
  readonly #registry: () => Registry;
  /** object -> node name -> those of its pods that refer to the object */
  readonly #reach = new Map<string, Map<string, Set<string>>>();

  constructor(deps: ObjectViewDeps) {
    this.#registry = deps.registry;
    this.pods = new ObjectView("pods", deps, (previous, next) => {
      if (previous !== undefined) this.#link(previous as Wire<V1Pod>, false);
      if (next !== undefined) this.#link(next as Wire<V1Pod>, true);
    });
  }

  /**
   * The way from a node to an object: `node n1`, `pod a/p`, `secret a/s`. Returns undefined only after the view has caught
   * up with the store.
   */
  async pathTo(
    nodeName: string,
    kind: ReachableKind,
    namespace: string,
    name: string,
  ): Promise<readonly string[] | undefined> {
    const node = `node ${nodeName}`;
    if (kind === "va") {
      const attachment = (await this.#get("volumeattachments.storage.k8s.io", name)) as
        | Wire<V1VolumeAttachment>
        | undefined;
      return attachment?.spec.nodeName === nodeName ? [node, `volumeattachment ${name}`] : undefined;
    }
    if (kind === "pv") {
      const volume = (await this.#get("persistentvolumes", name)) as Wire<V1PersistentVolume> | undefined;
      const { name: claimName = "", namespace: claimNamespace = "" } = volume?.spec?.claimRef ?? {};
      if (claimName === "") return undefined;
      const path = await this.pathTo(nodeName, "pvc", claimNamespace, claimName);
      return path === undefined ? undefined : [...path, `persistentvolume ${name}`];
    }
    const object = vertex(kind, namespace, name);
    let pods = this.#reach.get(object)?.get(nodeName);
    if (pods === undefined) {
      await this.pods.catchUp();
      pods = this.#reach.get(object)?.get(nodeName);
    }
    const [pod] = pods ?? [];
    if (pod === undefined) return undefined;
    return kind === "pod" ? [node, pod] : [node, pod, object];
  }

  async #get(resource: string, name: string): Promise<KubeObject | undefined> {
    try {
      return await this.#registry().store(resource).get(undefined, name, FROM_CACHE);
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  }

  #link(pod: Wire<V1Pod>, isPresent: boolean): void {
    const nodeName = pod.spec?.nodeName ?? "";
    if (nodeName === "") return;
    const { namespace = "", name: podName = "" } = pod.metadata;
    const by = vertex("pod", namespace, podName);
    const edge = (to: string) => this.#edge(to, nodeName, by, isPresent);
    edge(by);
    // A node creates its mirror pods. If they gave access, it could give itself access to any object.
    if (isMirrorPod(pod)) return;
    const references = podReferences(pod);
    for (const name of references.secrets) edge(vertex("secret", namespace, name));
    for (const name of references.configMaps) edge(vertex("configmap", namespace, name));
    for (const name of references.persistentVolumeClaims) edge(vertex("pvc", namespace, name));
    const account = references.serviceAccount;
    if (account !== undefined) edge(vertex("serviceaccount", namespace, account));
  }

  #edge(object: string, nodeName: string, pod: string, isPresent: boolean): void {
    const nodes = this.#reach.get(object) ?? new Map<string, Set<string>>();
    const pods = nodes.get(nodeName) ?? new Set<string>();
    if (isPresent) {
      this.#reach.set(object, nodes.set(nodeName, pods.add(pod)));
      return;
    }
    pods.delete(pod);
    if (pods.size === 0) nodes.delete(nodeName);
    if (nodes.size === 0) this.#reach.delete(object);
  }
}

function vertex(kind: ReferredKind, namespace: string, name: string): string {
  return `${kind} ${namespace}/${name}`;
}
