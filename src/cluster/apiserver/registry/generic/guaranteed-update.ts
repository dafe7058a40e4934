import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { conflict, StatusError } from "../../../../staging/apimachinery/errors.js";
import type { StoredEntry } from "../../storage/storage.js";
import type { RequestContext } from "../rest/registry.js";
import type { StoreCore } from "./store-core.js";
import { reportWrite, transactionStage } from "./write-entry.js";

export const GUARANTEED_UPDATE = {
  file: "staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go",
  func: "GuaranteedUpdate",
};
/** The number of attempts before a write fails with a conflict. Differs: upstream tries forever. */
const MAX_ATTEMPTS = 100;
const CACHED = { notOlderThan: 0 };
const THIS_VERSION = "the change is made to this version";
const CACHED_VERSION = `${THIS_VERSION}, from the cache`;
const NEWEST_COUNTS = "the cache may be older: the newest version counts";

/** The result of a write attempt. */
export interface Attempted {
  /** There was nothing to write. */
  readonly isUnchanged?: boolean;
}

/**
 * Reads the object, lets `tryUpdate` transform it and write it with `compareAndPut`, and does both again after a conflict. The first
 * try begins with the entry in the watch cache. A refusal, or that there is nothing to write, counts only if the entry was the
 * newest: the cache may be older.
 *
 * Mirrors GuaranteedUpdate in k8s.io/apiserver/pkg/storage/etcd3/store.go (origStateIsCurrent).
 * @param tryUpdate receives the entry, undefined if it does not exist, and why it was read; returns undefined if it is no longer current
 * @returns undefined if all attempts met a conflict
 */
export async function guaranteedUpdate<T extends Attempted>(
  { storage }: StoreCore,
  { warnings, dryRun = false }: RequestContext,
  key: string,
  tryUpdate: (entry: StoredEntry | undefined, why: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  const earlierWarnings = warnings.length;
  let why: string | undefined;
  for (let i = 0; i < MAX_ATTEMPTS; i++) {
    const { entry, isCached = false } = await storage.get(key, i === 0 && !dryRun ? CACHED : undefined);
    try {
      const outcome = await tryUpdate(entry, why ?? (isCached ? CACHED_VERSION : THIS_VERSION));
      if (outcome !== undefined && !(isCached && outcome.isUnchanged === true)) return outcome;
      why = outcome === undefined ? `another write came first: attempt ${i + 2}` : NEWEST_COUNTS;
    } catch (error) {
      const isRefusal = !(error instanceof StatusError) || error.code < 500;
      if (!isCached || !isRefusal) throw error;
      why = NEWEST_COUNTS;
    }
    warnings.length = earlierWarnings;
  }
  return undefined;
}

/** Mirrors storage.Preconditions.Check, including its message with the storage's key. */
export function checkUid(core: StoreCore, key: string, name: string, uid = "", entry: StoredEntry | undefined): void {
  const actual = entry?.object.metadata.uid ?? "";
  if (uid === "" || uid === actual) return;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${actual}`;
  const text = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`;
  throw conflict(core.definition, name, text);
}

/** Writes unless another write came first. @returns undefined if `entry` is no longer the current one */
export async function compareAndPut(
  core: StoreCore,
  context: RequestContext,
  entry: StoredEntry,
  object: KubeObject,
): Promise<StoredEntry | undefined> {
  const { key, modRevision } = entry;
  const updated = await core.storage.update(key, core.toStored(object), modRevision, core.writing);
  context.report?.(
    transactionStage(core, GUARANTEED_UPDATE.func, { key, expectedRevision: modRevision, write: "put" }, updated),
  );
  return reportWrite(core, "Update", updated, entry);
}

/** Reports a write that changes nothing. It does not reach the storage: the version stays, and no watch has an event. */
export function reportUnchanged({ report }: RequestContext, { key, modRevision }: StoredEntry): void {
  report?.({
    what: `write nothing at ${key}`,
    why: `the object is the same: its resourceVersion stays ${modRevision}`,
    upstream: GUARANTEED_UPDATE,
  });
}
