import type { Trace } from "../../trace/trace.js";
import type { AsyncQueue } from "../../util/async-queue.js";
import type { PodLifecycleEvent } from "./events.js";

/**
 * Reads lifecycle events as the sync loop does, and says what it would do about each. There are no pod workers here yet.
 *
 * Mirrors syncLoopIteration and isSyncPodWorthy in pkg/kubelet/kubelet.go.
 * @yields each event, once it has been read
 */
export async function* readEvents(
  events: AsyncQueue<PodLifecycleEvent>,
  trace: Trace,
  signal: AbortSignal,
): AsyncGenerator<PodLifecycleEvent> {
  for await (const event of events.iterate(signal)) {
    const what = isSyncPodWorthy(event)
      ? `sync pod ${event.podUid} for ${event.type}`
      : `do not sync pod ${event.podUid} for ${event.type}`;
    const why = isSyncPodWorthy(event)
      ? "its worker reads the status from the cache, newer than its last sync"
      : "what is removed has no effect on the pod's state; if it died, ContainerDied said so";
    const upstream = { file: "pkg/kubelet/kubelet.go", func: "syncLoopIteration" };
    trace.emit({ kind: "decision", what, why, upstream }, { actor: "kubelet", level: 2 });
    yield event;
  }
}

/** Mirrors isSyncPodWorthy. */
export function isSyncPodWorthy({ type }: PodLifecycleEvent): boolean {
  return type !== "ContainerRemoved";
}
