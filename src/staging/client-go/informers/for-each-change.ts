import type { Trace } from "../../../trace/trace.js";
import type { KubeObject } from "../../apimachinery/api/meta.js";
import type { WatchItem } from "../dynamic/interface.js";

/**
 * Calls `handle` for each change, with the watch event as its cause. For the objects of the first list, which have no watch
 * event, the cause is the start of the controller. Mirrors AddEventHandler in k8s.io/client-go/tools/cache/shared_informer.go.
 */
export async function forEachChange<T extends KubeObject>(
  trace: Trace,
  changes: AsyncIterable<WatchItem<T>>,
  handle: (item: WatchItem<T>) => void,
): Promise<void> {
  for await (const item of changes) {
    // Every change of the cluster passes here once for each controller.
    if (!trace.wantsCauses) handle(item);
    else if (item.type !== "initDone" && item.causedBy !== undefined) trace.because(item, () => handle(item));
    else if (item.type === "init" || item.type === "initDone") trace.origin("start", () => handle(item));
    else handle(item);
  }
}
