import type { KubeObject, WatchEvent, WatchEventType } from "../../../../staging/apimachinery/api/meta.js";
import { groupVersion } from "../../../../staging/apimachinery/api/resource.js";
import type { StorageEvent } from "../../storage/storage.js";
import { withMeta } from "../rest/object-meta.js";
import type { Selection } from "./selection.js";
import type { StoreCore } from "./store-core.js";

/**
 * Turns changes of the storage into the events of one watch.
 *
 * An object that leaves the selection is "deleted" for its watchers, with its old content and the new resourceVersion.
 * Mirrors k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go (convertToWatchEvent).
 */
export class WatchEventMaker {
  /** an object that left the selection, shared by all its watchers */
  readonly #left = new WeakMap<StorageEvent, KubeObject>();

  constructor(readonly core: StoreCore) {}

  /** @returns undefined if the change does not concern the watch */
  make(event: StorageEvent, selection: Selection | undefined): WatchEvent | undefined {
    const { core } = this;
    const object = core.show(event.object);
    const previous = event.previous === undefined ? undefined : core.show(event.previous);
    const wasIn = previous !== undefined && (selection === undefined || selection.matches(previous));
    if (event.type === "delete") return wasIn ? { type: "DELETED", object } : undefined;
    const isIn = selection === undefined || selection.matches(object);
    if (isIn) return { type: wasIn ? "MODIFIED" : "ADDED", object };
    return wasIn ? { type: "DELETED", object: this.#leaving(event, previous) } : undefined;
  }

  #leaving(event: StorageEvent, previous: KubeObject): KubeObject {
    let object = this.#left.get(event);
    if (object === undefined) {
      object = withMeta(previous, { resourceVersion: String(event.revision) });
      this.#left.set(event, object);
    }
    return object;
  }
}

/** Reports a watch's progress: kind, apiVersion and resourceVersion, the other fields empty. */
export function bookmark(core: StoreCore, revision: number, endsInitialEvents = false): WatchEvent {
  const { group, version, kind } = core.definition;
  const empty = core.emptyObject?.(core.definition) ?? {
    kind,
    apiVersion: groupVersion({ group, version }),
    metadata: {},
  };
  const annotations = endsInitialEvents ? { annotations: { "k8s.io/initial-events-end": "true" } } : {};
  const type: WatchEventType = "BOOKMARK";
  return {
    type,
    object: withMeta(empty, { resourceVersion: String(revision), creationTimestamp: null, ...annotations }),
  };
}

const BOOKMARK_PERIOD_MS = 60_000;
/** ms before the end. Mirrors nextBookmarkTime; the second comes from upstream's one-second buckets, as recorded */
const LAST_BOOKMARKS_MS = [2000, 800] as const;

/**
 * When to send the next bookmark: every minute, and shortly before the end, so that the next watch continues there.
 *
 * @param timeoutMs undefined: the watch has no end
 * @returns ms after the start of the watch; undefined: no more bookmarks
 */
export function nextBookmarkMs(elapsedMs: number, timeoutMs: number | undefined): number | undefined {
  const periodic = (Math.floor(elapsedMs / BOOKMARK_PERIOD_MS) + 1) * BOOKMARK_PERIOD_MS;
  if (timeoutMs === undefined) return periodic;
  const last = LAST_BOOKMARKS_MS.map((beforeMs) => timeoutMs - beforeMs).find((atMs) => atMs > elapsedMs && atMs > 0);
  const candidates = [periodic, last].filter((atMs) => atMs !== undefined && atMs < timeoutMs);
  return candidates.length === 0 ? undefined : Math.min(...(candidates as number[]));
}
