import { assumedOn, NodeInfo, type PodInfo } from "./node-info.js";
import { nodeNameOf, type SchedulableNode, type SchedulablePod } from "./objects.js";

/** A pod's node in the cache, and whether the API server has confirmed it. */
interface Placed {
  readonly info: PodInfo;
  readonly isAssumed: boolean;
}

/**
 * The scheduler's view of the nodes and the pods on them: what the watches delivered, plus the pods whose binding to a
 * chosen node is under way.
 *
 * Mirrors pkg/scheduler/internal/cache/cache.go (cacheImpl). Differs: an assumed pod does not expire, because its
 * binding succeeds or fails in the same loop; nodes come in the order they were added, not by zone; no snapshot is
 * taken, because nothing changes during the synchronous part of a cycle.
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

  /** Adds or updates a node. */
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

  /** The pod in the cache: bound, or assumed to be. */
  pod(key: string): SchedulablePod | undefined {
    return this.#pods.get(key)?.info.pod;
  }

  info(key: string): PodInfo | undefined {
    return this.#pods.get(key)?.info;
  }

  isAssumed(key: string): boolean {
    return this.#pods.get(key)?.isAssumed === true;
  }

  /** Assumes that the pod runs on the chosen node: its resources are taken from now on. */
  assumePod(info: PodInfo, nodeName: string): void {
    this.#place(assumedOn(info, nodeName), true);
  }

  /** Undoes an assumption after a failed binding: the resources are free again. */
  forgetPod(key: string): void {
    if (this.isAssumed(key)) this.removePod(key);
  }

  /** Adds a bound pod from the watch. This confirms or corrects an assumption about it. */
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
