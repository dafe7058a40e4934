import { setMaxListeners } from "node:events";
import type { WatchEvent } from "../../../../staging/apimachinery/api/meta.js";
import type { WatchOptions } from "../../../../staging/apimachinery/api/options.js";
import { statusError } from "../../../../staging/apimachinery/errors.js";
import { onAbort } from "../../../../util/async/abort.js";
import { AsyncQueue } from "../../../../util/async/async-queue.js";
import { CompactedError, SlowWatcherError, type StoredEntry } from "../../storage/storage.js";
import { validateWatchOptions } from "./list-options.js";
import { parseResourceVersion } from "./resource-versions.js";
import type { Selection } from "./selection.js";
import type { StoreCore } from "./store-core.js";
import { bookmark, nextBookmarkMs, type WatchEventMaker } from "./watch-plan.js";

interface WatchPlan {
  /** prefix of the watched keys; the watch reads all changes of the resource, so that bookmarks advance */
  readonly prefix: string;
  readonly selection: Selection | undefined;
  /** undefined: start with the existing objects */
  readonly afterRevision: number | undefined;
  readonly wantsBookmarks: boolean;
  readonly endsInitialEvents: boolean;
  readonly timeoutMs: number | undefined;
}

/**
 * Checks the options at once; events follow when they are read.
 *
 * Mirrors k8s.io/apiserver/pkg/storage/cacher/cacher.go (Watch) and cache_watcher.go (process).
 * @throws StatusError for invalid options, synchronously
 */
export function watchObjects(
  core: StoreCore,
  maker: WatchEventMaker,
  namespace: string | undefined,
  options: WatchOptions,
  signal: AbortSignal,
): AsyncIterable<WatchEvent> {
  const sendsInitialEvents = validateWatchOptions(options, core.kubeVersion);
  const revision = parseResourceVersion(options.resourceVersion);
  const { timeoutSeconds = 0 } = options;
  const plan: WatchPlan = {
    prefix: core.keys.prefix(namespace),
    selection: core.selector.select(options),
    afterRevision: sendsInitialEvents || revision === 0 ? undefined : revision,
    wantsBookmarks: options.allowWatchBookmarks === true,
    endsInitialEvents: sendsInitialEvents && options.allowWatchBookmarks === true,
    // A negative timeout ends the watch at once, like upstream's timer.
    timeoutMs: timeoutSeconds === 0 ? undefined : Math.max(0, timeoutSeconds * 1000),
  };
  return runWatch(core, maker, plan, signal);
}

async function* runWatch(
  core: StoreCore,
  maker: WatchEventMaker,
  plan: WatchPlan,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  if (signal.aborted) return;
  const end = new AbortController();
  // Any number of watches can use one signal: a server's, or that of all controllers.
  setMaxListeners(0, signal);
  using _ = onAbort(signal, () => end.abort());
  const { changes, bytes } = core.storage.watchBacklog;
  const queue = new AsyncQueue<WatchEvent>(changes, bytes);
  let running: Promise<unknown> = Promise.resolve();
  try {
    const initial =
      plan.afterRevision === undefined ? await core.storage.list(plan.prefix, { notOlderThan: 0 }) : undefined;
    const startRevision = initial?.revision ?? plan.afterRevision ?? 0;
    const progress = { revision: 0 };
    running = Promise.all([
      pump(core, maker, plan, startRevision, progress, queue, end.signal),
      keepTime(core, plan, startRevision, progress, queue, end.signal),
    ]);
    for (const entry of initial?.entries ?? []) {
      if (end.signal.aborted) return;
      const event = added(core, plan.selection, entry);
      if (event !== undefined) yield event;
    }
    if (plan.endsInitialEvents) yield bookmark(core, startRevision, true);
    yield* queue.iterate(end.signal);
  } finally {
    end.abort();
    await running;
  }
}

function added(core: StoreCore, selection: Selection | undefined, entry: StoredEntry): WatchEvent | undefined {
  const object = core.read(entry);
  return selection === undefined || selection.matches(object) ? { type: "ADDED", object } : undefined;
}

/** Moves changes into the queue; `progress` is the revision up to which all changes were seen, those of other watches included. */
async function pump(
  core: StoreCore,
  maker: WatchEventMaker,
  { prefix, selection }: WatchPlan,
  startRevision: number,
  progress: { revision: number },
  queue: AsyncQueue<WatchEvent>,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const change of core.storage.watchWithProgress(core.keys.resourcePrefix, startRevision, signal)) {
      if (change.type !== "progress") {
        const event = change.key.startsWith(prefix) ? maker.make(change, selection) : undefined;
        if (event !== undefined && !queue.push(event, change.bytes)) break;
      }
      progress.revision = change.revision;
    }
    queue.close();
  } catch (error) {
    if (error instanceof CompactedError) {
      queue.push({ type: "ERROR", object: { ...tooOld(error).status } });
      queue.close();
    } else if (error instanceof SlowWatcherError) queue.close();
    else queue.fail(error);
  }
}

/** Mirrors getAllEventsSinceLocked in k8s.io/apiserver/pkg/storage/cacher/watch_cache.go. */
function tooOld({ asked, oldest }: CompactedError) {
  return statusError(410, "Expired", `too old resource version: ${asked} (${oldest})`);
}

/** Sends bookmarks, and ends the stream at its timeout. */
async function keepTime(
  core: StoreCore,
  { wantsBookmarks, timeoutMs }: WatchPlan,
  startRevision: number,
  progress: { readonly revision: number },
  queue: AsyncQueue<WatchEvent>,
  signal: AbortSignal,
): Promise<void> {
  let elapsedMs = 0;
  try {
    for (;;) {
      const bookmarkMs = wantsBookmarks ? nextBookmarkMs(elapsedMs, timeoutMs) : undefined;
      const nextMs = bookmarkMs ?? timeoutMs;
      if (nextMs === undefined) return;
      await core.clock.sleep(nextMs - elapsedMs, signal);
      elapsedMs = nextMs;
      if (bookmarkMs === undefined) return queue.close();
      // Without a newer revision upstream sends no bookmark.
      if (progress.revision > startRevision) queue.push(bookmark(core, progress.revision));
    }
  } catch (error) {
    // An aborted sleep is the normal end; the reader gets any other error.
    if (!signal.aborted) queue.fail(error);
  }
}
