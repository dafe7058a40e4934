import type { PodCache } from "../../kubelet/container/cache.js";
import type { Container, PodRef, PodStatus } from "../../kubelet/container/runtime.js";

/** A pod with its containers, as PLEG knows them. */
export interface KnownPod extends PodRef {
  readonly containers: readonly Container[];
  readonly sandboxes: readonly Container[];
}

/**
 * The pods of a cache that events keep up to date. The last list may be minutes old.
 * @param listed for pods whose inspection failed: the cache has only their error
 */
export function cachedPods(cache: PodCache, listed: Iterable<KnownPod>): readonly KnownPod[] {
  const listedPods = new Map(Array.from(listed, (pod) => [pod.podUid, pod]));
  return Array.from(cache.entries()).flatMap(([podUid, { status }]) => {
    const pod = status === undefined ? listedPods.get(podUid) : podOf(status);
    return pod === undefined ? [] : [pod];
  });
}

function podOf({ podUid, name, namespace, containerStatuses, sandboxStatuses }: PodStatus): KnownPod {
  return {
    podUid,
    name,
    namespace,
    containers: containerStatuses.map(({ containerId, name, state }) => ({ containerId, name, state })),
    // The same states as in lists: see ContainerState.
    sandboxes: sandboxStatuses.map(({ sandboxId, state }) => ({
      containerId: sandboxId,
      state: state === "ready" ? "running" : "exited",
    })),
  };
}
