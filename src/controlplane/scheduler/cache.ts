import { assumedOn, NodeInfo, type PodInfo } from "./node-info.js";
import { nodeNameOf, type SchedulableNode, type SchedulablePod } from "./objects.js";

/** Where the cache has a pod, and whether the API server has said so too. */
interface Placed {
  readonly info: PodInfo;
  readonly isAssumed: boolean;
}

/**
 * The nodes with the pods on them, as the scheduler believes them to be: what the watches brought, and the pods it has
 * chosen a node for while their binding is under way.
 *
 * Mirrors pkg/scheduler/internal/cache/cache.go (cacheImpl). Differs: an assumed pod does not expire: its binding ends
 * with a success or a failure in the same loop; nodes come in the order they were added, not by zone; no snapshot is
 * taken, as nothing changes during the synchronous part of a cycle.
 */
export class SchedulerCache {
  readonly #nodes = new Map<string, NodeInfo>();
  readonly #pods = new Map<string, Placed>();
  #list: readonly NodeInfo[] | undefined;

  /** The nodes that exist, oldest first. */
  nodes(): readonly NodeInfo[] {
    this.#list ??= [...this.#nodes.values()].filter(({ node }) => node !== undefined);
    return this.#list;
  }

  node(name: string): NodeInfo | undefined {
    const info = this.#nodes.get(name);
    return info?.node === undefined ? undefined : info;
  }

  /** Adds a node, or takes over its new state. */
  setNode(name: string, node: SchedulableNode): NodeInfo {
    const info = this.#infoOf(name);
    if (info.node === undefined) this.#list = undefined;
    info.setNode(node);
    return info;
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name);
    if (info === undefined) return;
    info.setNode(undefined);
    this.#list = undefined;
    this.#dropIfEmpty(info);
  }

  /** The pod as the cache has it: bound, or assumed to be. */
  pod(key: string): SchedulablePod | undefined {
    return this.#pods.get(key)?.info.pod;
  }

  info(key: string): PodInfo | undefined {
    return this.#pods.get(key)?.info;
  }

  isAssumed(key: string): boolean {
    return this.#pods.get(key)?.isAssumed === true;
  }

  /** A node was chosen: from now on its resources are taken. */
  assumePod(info: PodInfo, nodeName: string): void {
    this.#place(assumedOn(info, nodeName), true);
  }

  /** The binding failed: the resources are free again. */
  forgetPod(key: string): void {
    if (this.isAssumed(key)) this.removePod(key);
  }

  /** The watch brought a pod that is bound; an assumption about it is confirmed (or put right) by that. */
  addPod(info: PodInfo): void {
    this.#place(info, false);
  }

  removePod(key: string): void {
    const placed = this.#pods.get(key);
    if (placed === undefined) return;
    this.#pods.delete(key);
    const node = this.#nodes.get(nodeNameOf(placed.info.pod));
    if (node === undefined) return;
    node.removePod(key);
    this.#dropIfEmpty(node);
  }

  #place(info: PodInfo, isAssumed: boolean): void {
    this.removePod(info.key);
    this.#pods.set(info.key, { info, isAssumed });
    this.#infoOf(nodeNameOf(info.pod)).addPod(info);
  }

  #infoOf(name: string): NodeInfo {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    const info = new NodeInfo(name);
    this.#nodes.set(name, info);
    return info;
  }

  #dropIfEmpty(info: NodeInfo): void {
    if (info.node === undefined && info.pods.size === 0) this.#nodes.delete(info.name);
  }
}
