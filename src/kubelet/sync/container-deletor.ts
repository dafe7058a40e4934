import type { Trace } from "../../trace/trace.js";
import type { ContainerStatus, PodStatus } from "../container/runtime.js";
import { PodsObserver } from "./pods-observer.js";

export interface ContainerDeletorDeps {
  readonly runtime: { deleteContainer(containerId: string, signal: AbortSignal): Promise<void> };
  readonly trace: Trace;
  /** called after containers were deleted: earlier lists of the runtime are out of date */
  readonly onDeleted?: () => void;
}

/**
 * Removes dead containers that are no longer needed: of a terminated pod all of them, otherwise all but the newest of
 * each name.
 *
 * Mirrors pkg/kubelet/pod_container_deletor.go (podContainerDeletor).
 */
export class ContainerDeletor {
  readonly #underWay = new Set<string>();
  #tail: Promise<void> = Promise.resolve();

  /** @param containersToKeep of each name; the kubelet's MaxPerPodContainerCount, but at least 1 */
  constructor(
    readonly deps: ContainerDeletorDeps,
    readonly containersToKeep: number,
    readonly signal: AbortSignal,
    readonly observer = new PodsObserver(deps.trace),
  ) {}

  /**
   * Mirrors deleteContainersInPod.
   * @param filterContainerId only containers of its name; undefined: all
   * @param removeAll the pod has terminated: keep no container
   */
  deleteContainersInPod(filterContainerId: string | undefined, podStatus: PodStatus, removeAll: boolean): void {
    const [filter, keep] = removeAll ? [undefined, 0] : [filterContainerId, this.containersToKeep];
    const ids = getContainersToDeleteInPod(filter, podStatus, keep)
      .map(({ containerId }) => containerId)
      .filter((id) => !this.#underWay.has(id));
    if (ids.length === 0 || this.signal.aborted) return;
    for (const id of ids) this.#underWay.add(id);
    this.observer.removesContainers(ids.length, podStatus, removeAll ? undefined : keep);
    this.#tail = this.#tail.then(() => this.#delete(ids));
  }

  /** Resolves when all deletions requested so far are done. */
  idle(): Promise<void> {
    return this.#tail;
  }

  async #delete(ids: readonly string[]): Promise<void> {
    const { runtime, onDeleted } = this.deps;
    for (const id of ids) {
      try {
        if (!this.signal.aborted) await runtime.deleteContainer(id, this.signal);
      } catch (error) {
        // Garbage collection removes what fails here.
        if (!this.signal.aborted) this.observer.containerNotRemoved(error);
      } finally {
        this.#underWay.delete(id);
      }
    }
    if (!this.signal.aborted) onDeleted?.();
  }
}

/**
 * Mirrors getContainersToDeleteInPod. Pure.
 * @returns dead containers except the newest `containersToKeep`; with a filter only those with the same name
 */
function getContainersToDeleteInPod(
  filterContainerId: string | undefined,
  { containerStatuses }: PodStatus,
  containersToKeep: number,
): ContainerStatus[] {
  const matched = containerStatuses.find(({ containerId }) => containerId === filterContainerId);
  // The sandbox has ended, or is already gone.
  if (filterContainerId !== undefined && matched === undefined) return [];
  return containerStatuses
    .filter(({ state, name }) => state === "exited" && (matched === undefined || name === matched.name))
    .sort((a, b) => b.createdAtMs - a.createdAtMs)
    .slice(containersToKeep);
}
