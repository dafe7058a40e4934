import { CompactedError, type StorageEvent } from "../storage.js";
import type { DecodedValues } from "./decoded-values.js";
import { EtcdError } from "./errors.js";
import { type Event, EventType, type WatchResponse } from "./messages.js";
import { prefixRange } from "./ranges.js";
import type { EtcdRequests } from "./requests.js";
import { changeOf } from "./watch-cache.js";

/** Between a broken stream and the next. */
const RESUME_DELAY_MS = 100;

/** Changes in order of revision, and the revision up to which the reader has now seen all changes. */
export interface WatchBatch {
  /** prepared for decoding */
  readonly events: readonly Event[];
  readonly revision: number;
}

export interface WatcherDeps {
  readonly requests: EtcdRequests;
  readonly values: DecodedValues;
}

/**
 * All changes of a prefix after a revision, until `signal` aborts (normal end). When the connection is lost or etcd ends the
 * stream, another continues after the last change that was read.
 *
 * Mirrors k8s.io/apiserver/pkg/storage/etcd3/watcher.go (startWatching) over etcd's client/v3/watch.go (watchGrpcStream.run).
 * @param prevKv whether events have the version before
 * @throws CompactedError when etcd no longer has the changes
 */
export async function* watchPrefix(
  { requests, values }: WatcherDeps,
  prefix: string,
  { afterRevision, prevKv }: { readonly afterRevision: number; readonly prevKv: boolean },
  signal: AbortSignal,
): AsyncGenerator<WatchBatch> {
  const { client } = requests;
  let seen = afterRevision;
  while (!signal.aborted) {
    const createRequest = { ...prefixRange(prefix), startRevision: seen + 1, prevKv, progressNotify: true };
    try {
      for await (const response of client.watch({ createRequest }, signal)) {
        if (response.canceled) {
          if (response.compactRevision > 0n) throw new CompactedError(seen, Number(response.compactRevision) - 1);
          break;
        }
        if (response.created) {
          // If etcd has lost what it had, the answer to any request ends this watch.
          if (Number(response.header?.revision ?? 0) < seen) await requests.currentRevision().catch(() => {});
          // Only an empty message means that nothing has changed up to its revision.
          continue;
        }
        seen = newestOf(response, seen);
        await values.codec.prepare(
          response.events.flatMap(({ kv, prevKv }) => [kv, prevKv].filter((one) => one !== undefined)),
        );
        yield { events: response.events, revision: seen };
      }
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
    }
    await client.clock.sleep(RESUME_DELAY_MS, signal).catch(() => {});
  }
}

function newestOf({ header, events }: WatchResponse, seen: number): number {
  const last = events.at(-1)?.kv?.modRevision;
  return Math.max(seen, Number(last ?? header?.revision ?? 0));
}

/**
 * The change of an event that has the version before.
 * @returns undefined if neither version can be read: to watchers such a key does not exist
 * @throws CompactedError when the version before was compacted, as it can be when the watch starts in the past
 */
export function changeWithPrevious(values: DecodedValues, { type, kv, prevKv }: Event): StorageEvent | undefined {
  if (kv === undefined) return undefined;
  const revision = Number(kv.modRevision);
  const isNew = type === EventType.PUT && kv.createRevision === kv.modRevision;
  if (prevKv === undefined && !isNew) throw new CompactedError(revision - 1, revision);
  const previous = prevKv === undefined ? undefined : values.tryOne(prevKv);
  const entry = type === EventType.PUT ? values.tryOne(kv) : undefined;
  return changeOf(kv.key.toString(), revision, entry, previous);
}
