import type { KubeObject, WatchEvent, WatchEventType } from "../../apimachinery/api/meta.js";
import type { StorageEvent } from "../storage/storage.js";
import { withMeta } from "./object-meta.js";
import type { Selection } from "./selection.js";
import type { StoreCore } from "./store-core.js";

/**
 * Turns changes of the storage into what one watch is told.
 *
 * An object that leaves the selection is "deleted" for its watchers, with its old content and the new resourceVersion.
 * Mirrors k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go (convertToWatchEvent).
 */
export class WatchEventMaker {
  /** what left: one object for all watchers that saw it leave */
  readonly #left = new WeakMap<StorageEvent, KubeObject>();

  constructor(readonly core: StoreCore) {}

  /** @returns undefined when the watch is not concerned */
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

/** Says how far a watch has come, without a change: kind, apiVersion and resourceVersion, the rest of the kind empty. */
export function bookmark(core: StoreCore, revision: number, endsInitialEvents = false): WatchEvent {
  const { group, version, kind } = core.definition;
  const empty = core.emptyObject?.(core.definition) ?? {
    kind,
    apiVersion: group === "" ? version : `${group}/${version}`,
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
/** ms before the end. Mirrors nextBookmarkTime; the second is an effect of upstream's buckets of a second, and was recorded */
const LAST_BOOKMARKS_MS = [2000, 800] as const;

/**
 * When to say how far a watch has come: every minute, and shortly before its end, so that the next one can go on there.
 *
 * @param timeoutMs undefined: the watch has no end
 * @returns ms after its beginning, counted from there; undefined: no more
 */
export function nextBookmarkMs(elapsedMs: number, timeoutMs: number | undefined): number | undefined {
  const periodic = (Math.floor(elapsedMs / BOOKMARK_PERIOD_MS) + 1) * BOOKMARK_PERIOD_MS;
  if (timeoutMs === undefined) return periodic;
  const last = LAST_BOOKMARKS_MS.map((beforeMs) => timeoutMs - beforeMs).find((atMs) => atMs > elapsedMs && atMs > 0);
  const candidates = [periodic, last].filter((atMs) => atMs !== undefined && atMs < timeoutMs);
  return candidates.length === 0 ? undefined : Math.min(...(candidates as number[]));
}
