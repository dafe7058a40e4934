import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../../staging/apimachinery/api/object-key.js";
import type { StateFact, Upstream } from "../../../../trace/events.js";
import { versionOf } from "../../../../trace/scope.js";
import { defined } from "../../../../util/defined.js";
import type { ConditionalWrite, StoredEntry } from "../../storage/storage.js";
import type { RequestContext } from "../rest/registry.js";
import type { ReportStage, Stage } from "../rest/stages.js";
import type { StoreCore } from "./store-core.js";

const SECRETS = "secrets";
const ETCD3 = "staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go";
const TRANSFORM = {
  file: "staging/src/k8s.io/apiserver/pkg/storage/value/encrypt/identity/identity.go",
  func: "TransformToStorage",
};
/** Functions of that file. */
const CREATE = "Create";
const DELETE = "conditionalDelete";
const FILE = "staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go";

/** @returns undefined if the key exists already */
export async function createEntry(
  core: StoreCore,
  context: RequestContext,
  key: string,
  object: KubeObject,
): Promise<StoredEntry | undefined> {
  if (context.report !== undefined) reportEncoding(core, context.report, key);
  const created = await core.storage.create(key, core.toStored(object), core.writing);
  context.report?.(transactionStage(core, CREATE, { key, expectedRevision: 0, write: "put" }, created));
  return reportWrite(core, "Create", created);
}

/** @returns the last object with the version of its deletion; undefined if `entry` is no longer the current one */
export async function deleteEntry(
  core: StoreCore,
  context: RequestContext,
  entry: StoredEntry,
): Promise<StoredEntry | undefined> {
  const { key, modRevision } = entry;
  const outcome = await core.storage.delete(key, modRevision);
  context.report?.(transactionStage(core, DELETE, { key, expectedRevision: modRevision, write: "delete" }, outcome));
  const deleted = reportWrite(core, "Delete", outcome, entry);
  if (deleted !== undefined) await core.hooks?.afterDelete(core.read(deleted));
  return deleted;
}

/** Reports what a new object goes through on its way to bytes, in the order of etcd3's Create. */
function reportEncoding({ writing: { ttlSeconds } }: StoreCore, report: ReportStage, key: string): void {
  const name = (what: string, upstream: Upstream) => report({ what, why: "", upstream, isName: true });
  const ttl =
    ttlSeconds === undefined
      ? `no TTL for ${key}: objects of this kind stay until they are deleted`
      : `a TTL of ${ttlSeconds} s for ${key}: then it is deleted`;
  name(`resourceVersion of ${key} is not set: only a new object can be created`, { file: ETCD3, func: CREATE });
  name(ttl, { file: ETCD3, func: "ttlOpts" });
  name(`store the bytes of ${key} as they are: no encryption at rest is configured`, TRANSFORM);
}

/** The condition of a write, what it does in either case, and which case it was. */
export function transactionStage(
  { storage }: StoreCore,
  func: string,
  write: ConditionalWrite,
  written: StoredEntry | undefined,
): Stage {
  const { compare, success, failure } = storage.explain(write);
  const outcome = written === undefined ? "the compare failed" : `revision ${written.modRevision}`;
  return {
    what: `transaction on ${write.key}: ${outcome}`,
    why: `if ${compare}, then ${success}, else ${failure}`,
    upstream: { file: ETCD3, func },
  };
}

/**
 * Reports a write, if a trace keeps causes. The fact has the version that watch events name as their cause. The values of a
 * Secret are masked from then on, because a later request may have them in its URL.
 */
export function reportWrite(
  { trace, definition }: StoreCore,
  func: "Create" | "Update" | "Delete",
  written: StoredEntry | undefined,
  previous?: StoredEntry,
): StoredEntry | undefined {
  if (written === undefined || !trace.wantsCauses) return written;
  const { resource } = definition;
  if (resource === SECRETS) trace.secrets.learnBody(`/api/v1/${SECRETS}`, written.object);
  const key = keyOf(written.object);
  const fact: StateFact = {
    kind: "state",
    subject: `${resource} ${key}`,
    what: func === "Delete" ? "deleted" : "stored",
    ...defined({ from: previous && revision(previous) }),
    to: revision(written),
    upstream: { file: FILE, func },
    ...defined({ version: versionOf(written.object) }),
  };
  const pod = resource === "pods" ? key : undefined;
  trace.because({ pod }, () => trace.emit(fact, { actor: "apiserver", level: 3 }));
  return written;
}

function revision({ modRevision }: StoredEntry): string {
  return `resourceVersion ${modRevision}`;
}
