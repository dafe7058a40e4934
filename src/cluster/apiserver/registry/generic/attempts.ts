import { StatusError } from "../../../../staging/apimachinery/errors.js";
import type { StoredEntry } from "../../storage/storage.js";
import type { RequestContext } from "../rest/registry.js";
import type { StoreCore } from "./store-core.js";

/** The number of attempts before a write fails with a conflict. Differs: upstream tries forever. */
const MAX_ATTEMPTS = 100;
const CACHED = { notOlderThan: 0 };
const THIS_VERSION = "the change is made to this version";
const CACHED_VERSION = `${THIS_VERSION}, from the cache`;
const NEWEST_COUNTS = "the cache may be older: the newest version counts";

/** What a write came to. */
export interface Attempted {
  /** There was nothing to write. */
  readonly isUnchanged?: boolean;
}

/**
 * Attempts a write on the entry in the watch cache, and after a conflict on the newest one. A refusal, or that there is nothing
 * to write, counts only if the entry was the newest: the cache may be older.
 *
 * Mirrors GuaranteedUpdate in k8s.io/apiserver/pkg/storage/etcd3/store.go (origStateIsCurrent).
 * @param attempt gets the entry, or undefined if there is none, and why this one; answers undefined if it is no longer current
 * @returns undefined if all attempts met a conflict
 */
export async function attemptWrite<T extends Attempted>(
  { storage }: StoreCore,
  { warnings, dryRun = false }: RequestContext,
  key: string,
  attempt: (entry: StoredEntry | undefined, why: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  const earlierWarnings = warnings.length;
  let why: string | undefined;
  for (let i = 0; i < MAX_ATTEMPTS; i++) {
    const { entry, isCached = false } = await storage.get(key, i === 0 && !dryRun ? CACHED : undefined);
    try {
      const outcome = await attempt(entry, why ?? (isCached ? CACHED_VERSION : THIS_VERSION));
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
