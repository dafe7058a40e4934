import type { KubeObject } from "../../apimachinery/api/meta.js";
import { keyOf } from "../../client-go/cache/key.js";
import type { StateFact } from "../../trace/events.js";
import { versionOf } from "../../trace/scope.js";
import { defined } from "../../util/defined.js";
import type { StoredEntry } from "../storage/storage.js";
import type { StoreCore } from "./store-core.js";

const SECRETS = "secrets";
const FILE = "staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go";

/** @returns undefined if the key exists already */
export async function createEntry(core: StoreCore, key: string, object: KubeObject): Promise<StoredEntry | undefined> {
  return report(core, "Create", await core.storage.create(key, core.toStored(object), core.writing));
}

/** @returns undefined if `entry` is no longer the current one */
export async function updateEntry(
  core: StoreCore,
  entry: StoredEntry,
  object: KubeObject,
): Promise<StoredEntry | undefined> {
  const stored = core.toStored(object);
  return report(core, "Update", await core.storage.update(entry.key, stored, entry.modRevision, core.writing), entry);
}

/** @returns the last object with the version of its deletion; undefined if `entry` is no longer the current one */
export async function deleteEntry(core: StoreCore, entry: StoredEntry): Promise<StoredEntry | undefined> {
  const deleted = report(core, "Delete", await core.storage.delete(entry.key, entry.modRevision), entry);
  if (deleted !== undefined) await core.hooks?.afterDelete(core.read(deleted));
  return deleted;
}

/**
 * Reports a write, if a trace keeps causes. The fact has the version that watch events name as their cause. The values of a
 * Secret are masked from then on, because a later request may have them in its URL.
 */
function report(
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
