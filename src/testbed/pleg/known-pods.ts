import type { PodCache } from "../../kubelet/container/cache.js";
import { podFromStatus } from "../../kubelet/container/helpers.js";
import type { Container, PodRef } from "../../kubelet/container/runtime.js";

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
    const pod = status === undefined ? listedPods.get(podUid) : podFromStatus(status);
    return pod === undefined ? [] : [pod];
  });
}
