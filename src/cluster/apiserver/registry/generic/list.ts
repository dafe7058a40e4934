import type { KubeList, KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { ListOptions } from "../../../../staging/apimachinery/api/options.js";
import { groupVersion } from "../../../../staging/apimachinery/api/resource.js";
import { badRequest, StatusError, statusError } from "../../../../staging/apimachinery/errors.js";
import { defined } from "../../../../util/defined.js";
import { CompactedError, type ListRange, type StoredEntry } from "../../storage/storage.js";
import { type ContinuePoint, decodeContinue, encodeContinue } from "./continue-token.js";
import { validateListOptions } from "./list-options.js";
import { parseResourceVersion, waitForRevision } from "./resource-versions.js";
import type { Selection } from "./selection.js";
import type { StoreCore } from "./store-core.js";

const EXPIRED = "The resourceVersion for the provided list is too old.";
const CONTINUE_EXPIRED =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
  "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
  "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or " +
  "deleted between the time the first chunk was returned and now may show up in the list.";

/** With a selector, a chunk is read in pieces of at least this many entries. */
const MIN_PIECE = 100;

interface Query {
  readonly prefix: string;
  readonly selection: Selection | undefined;
  /** undefined: no limit */
  readonly limit: number | undefined;
  readonly afterKey: string | undefined;
  readonly atRevision: number | undefined;
  /** undefined: the newest state */
  readonly notOlderThan: number | undefined;
}

const EVERYTHING = {
  selection: undefined,
  limit: undefined,
  afterKey: undefined,
  atRevision: undefined,
  notOlderThan: undefined,
} as const;

interface Chunk {
  readonly items: readonly KubeObject[];
  readonly revision: number;
  /** the last key that was read, if more follow */
  readonly lastKey: string | undefined;
  readonly remaining: number;
}

/**
 * Mirrors k8s.io/apiserver/pkg/storage/etcd3/store.go (GetList) and cacher/cacher.go (GetList, shouldDelegateList).
 * Differs: all lists are sorted; upstream's lists from its cache are in random order.
 */
export async function listObjects(
  core: StoreCore,
  namespace: string | undefined,
  options?: ListOptions,
): Promise<KubeList> {
  if (options === undefined) return listAll(core, core.keys.prefix(namespace));
  validateListOptions(options);
  const selection = core.selector.select(options);
  const revision = parseResourceVersion(options.resourceVersion);
  const prefix = core.keys.prefix(namespace);
  const isContinued = options.continue !== undefined && options.continue !== "";
  if (isContinued && revision !== undefined && revision !== 0) {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  if (revision !== undefined) await waitForRevision(core.storage, core.clock, revision);
  const point = isContinued ? decodeContinue(prefix, options.continue ?? "") : undefined;
  // A list "from the cache" ignores the limit. Reflectors rely on that to get everything.
  const limit = revision === 0 && !isContinued ? undefined : positive(options.limit);
  const atRevision = isContinued ? point?.revision : exactRevision(options, revision, limit);
  const query = { prefix, selection, limit, afterKey: point?.afterKey, atRevision, notOlderThan: revision };
  try {
    const single = singleKey(core, namespace, query);
    return listOf(
      core,
      query,
      single === undefined ? await readChunk(core, query) : await readOne(core, query, single),
    );
  } catch (error) {
    throw error instanceof CompactedError ? expired(prefix, point) : error;
  }
}

/** The options of controllers and admission plugins. */
async function listAll(core: StoreCore, prefix: string): Promise<KubeList> {
  const { entries, revision } = await core.storage.list(prefix, { notOlderThan: 0 });
  const query: Query = { prefix, ...EVERYTHING };
  return listOf(core, query, { items: entries.map(core.read), revision, lastKey: undefined, remaining: 0 });
}

function positive(limit: number | undefined): number | undefined {
  return limit === undefined || limit <= 0 ? undefined : limit;
}

/** With a limit and no match, resourceVersion is exact, as before resourceVersionMatch existed. */
function exactRevision(options: ListOptions, revision: number | undefined, limit: number | undefined) {
  if (revision === undefined || revision === 0) return undefined;
  const { resourceVersionMatch = "" } = options;
  return resourceVersionMatch === "Exact" || (resourceVersionMatch === "" && limit !== undefined)
    ? revision
    : undefined;
}

/** The only key that a list by name can find. Mirrors the shortcut for MatchesSingle in Store.ListPredicate. */
function singleKey(core: StoreCore, namespace: string | undefined, query: Query): string | undefined {
  const name = query.selection?.name;
  if (name === undefined || name === "" || name.includes("/") || query.atRevision !== undefined) return undefined;
  const isWithin = !core.definition.namespaced || (namespace !== undefined && namespace !== "");
  return isWithin && query.afterKey === undefined ? query.prefix + name : undefined;
}

async function readOne(core: StoreCore, { selection, notOlderThan }: Query, key: string): Promise<Chunk> {
  const { entry, revision } = await core.storage.get(key, defined({ notOlderThan }));
  const object = entry === undefined ? undefined : core.read(entry);
  const items = object !== undefined && selection?.matches(object) === true ? [object] : [];
  return { items, revision, lastKey: undefined, remaining: 0 };
}

async function readChunk(core: StoreCore, query: Query): Promise<Chunk> {
  const { prefix, selection, limit } = query;
  if (selection !== undefined && limit !== undefined) return readSelected(core, query, selection, limit);
  const result = await core.storage.list(prefix, rangeOf(query, limit));
  const items = result.entries.map(core.read);
  return {
    items: selection === undefined ? items : items.filter((one) => selection.matches(one)),
    revision: result.revision,
    lastKey: result.remainingCount > 0 ? result.entries.at(-1)?.key : undefined,
    remaining: result.remainingCount,
  };
}

function rangeOf({ afterKey, atRevision, notOlderThan }: Query, limit: number | undefined): ListRange {
  return defined({ limit, afterKey, atRevision, notOlderThan });
}

/** Reads until `limit` objects match. */
async function readSelected(core: StoreCore, query: Query, selection: Selection, limit: number): Promise<Chunk> {
  const items: KubeObject[] = [];
  let { afterKey, atRevision } = query;
  for (;;) {
    const range = rangeOf({ ...query, afterKey, atRevision }, Math.max(limit, MIN_PIECE));
    const { entries, revision, remainingCount } = await core.storage.list(query.prefix, range);
    // All pieces are read at the revision of the first one.
    atRevision ??= revision;
    const taken = take(core, entries, selection, items, limit);
    afterKey = entries[taken - 1]?.key ?? afterKey;
    const remaining = remainingCount + entries.length - taken;
    if (items.length >= limit || remaining === 0) {
      return { items, revision, lastKey: remaining > 0 ? afterKey : undefined, remaining };
    }
  }
}

/** @returns how many entries were checked */
function take(
  core: StoreCore,
  entries: readonly StoredEntry[],
  selection: Selection,
  items: KubeObject[],
  limit: number,
): number {
  let taken = 0;
  for (const entry of entries) {
    if (items.length >= limit) break;
    const object = core.read(entry);
    if (selection.matches(object)) items.push(object);
    taken++;
  }
  return taken;
}

function listOf({ definition }: StoreCore, { prefix, selection }: Query, chunk: Chunk): KubeList {
  const { group, version, kind, listKind = `${kind}List` } = definition;
  const { items, revision, lastKey, remaining } = chunk;
  return {
    kind: listKind,
    apiVersion: groupVersion({ group, version }),
    metadata: {
      resourceVersion: String(revision),
      ...(lastKey === undefined ? {} : { continue: encodeContinue(prefix, { afterKey: lastKey, revision }) }),
      // With a selector the number of remaining matches is unknown.
      ...(lastKey === undefined || selection !== undefined ? {} : { remainingItemCount: remaining }),
    },
    items,
  };
}

/** Mirrors interpretListError and handleCompactedErrorForPaging in etcd3/errors.go. */
function expired(prefix: string, point: ContinuePoint | undefined): StatusError {
  if (point === undefined) return statusError(410, "Expired", EXPIRED);
  const { status } = statusError(410, "Expired", CONTINUE_EXPIRED);
  const fresh = encodeContinue(prefix, { afterKey: point.afterKey, revision: undefined });
  return new StatusError({ ...status, metadata: { continue: fresh } });
}
