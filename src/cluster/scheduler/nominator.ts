import type { PodInfo } from "./node-info.js";
import { priorityOf } from "./objects.js";

/**
 * Pods that wait on a node for their victims to leave. The room is reserved for them.
 * Mirrors nominator in pkg/scheduler/internal/queue/scheduling_queue.go.
 */
export class Nominator {
  readonly #nodeOf = new Map<string, string>();
  readonly #byNode = new Map<string, Map<string, PodInfo>>();

  nominate(info: PodInfo, nodeName: string): void {
    this.remove(info.key);
    this.#nodeOf.set(info.key, nodeName);
    const pods = this.#byNode.get(nodeName) ?? new Map<string, PodInfo>();
    this.#byNode.set(nodeName, pods.set(info.key, info));
  }

  /** @returns whether it was nominated */
  remove(key: string): boolean {
    const nodeName = this.#nodeOf.get(key);
    if (nodeName === undefined) return false;
    this.#nodeOf.delete(key);
    const pods = this.#byNode.get(nodeName);
    pods?.delete(key);
    if (pods?.size === 0) this.#byNode.delete(nodeName);
    return true;
  }

  on(nodeName: string): readonly PodInfo[] {
    return [...(this.#byNode.get(nodeName)?.values() ?? [])];
  }

  /** The nominated pods with at least the priority of `info`: filters must count them as already running. */
  ahead(info: PodInfo, nodeName: string): readonly PodInfo[] {
    const pods = this.#byNode.get(nodeName);
    if (pods === undefined) return [];
    return [...pods.values()].filter((one) => one.uid !== info.uid && priorityOf(one.pod) >= priorityOf(info.pod));
  }
}
