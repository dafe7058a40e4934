import type { KubeList, KubeObject } from "../../apimachinery/api/meta.js";
import { conflict, notFound, StatusError } from "../../apimachinery/errors.js";
import { sameJson } from "../../apimachinery/same-json.js";
import type { StoredEntry } from "../storage/storage.js";
import { planDeletion } from "./deletion-plan.js";
import { listObjects } from "./list.js";
import type { DeleteOptions, ListOptions, RequestContext } from "./registry.js";
import { type StoreCore, strategyContext } from "./store-core.js";
import { deleteEntry, updateEntry } from "./write-entry.js";

const MAX_ATTEMPTS = 100;

export interface DeleteOutcome {
  readonly object: KubeObject;
  readonly gone: boolean;
}

/** Mirrors k8s.io/apiserver/pkg/registry/generic/registry/store.go (Store.Delete). */
export async function deleteObject(
  core: StoreCore,
  context: RequestContext,
  namespace: string | undefined,
  name: string,
  options: DeleteOptions = {},
): Promise<DeleteOutcome> {
  const key = core.keys.key(namespace, name);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { entry } = await core.storage.get(key);
    if (entry === undefined) throw notFound(core.definition, name);
    const outcome = await tryDelete(core, context, namespace, entry, options);
    if (outcome !== undefined) return outcome;
  }
  throw conflict(core.definition, name, "too many others write to it");
}

/** @returns undefined if the entry is no longer the current one */
async function tryDelete(
  core: StoreCore,
  context: RequestContext,
  namespace: string | undefined,
  entry: StoredEntry,
  options: DeleteOptions,
): Promise<DeleteOutcome | undefined> {
  const current = core.read(entry);
  const plan = planDeletion(core.definition, current, options, strategyContext(core, context));
  if (plan.type === "pending") return { object: current, gone: false };
  await admitDeletion(core, context, namespace, current, options);
  if (plan.type === "remove") {
    if (context.dryRun === true) return { object: current, gone: true };
    const removed = await deleteEntry(core, entry);
    return removed === undefined ? undefined : { object: current, gone: true };
  }
  if (context.dryRun === true) return { object: plan.object, gone: plan.thenRemove };
  const marked = sameJson(plan.object, current) ? entry : await updateEntry(core, entry, plan.object);
  if (marked === undefined) return undefined;
  if (plan.thenRemove) await removeMarked(core, marked);
  return { object: core.read(marked), gone: plan.thenRemove };
}

/** Removes the marked object, unless another client has removed it already. */
async function removeMarked(core: StoreCore, marked: StoredEntry): Promise<void> {
  let entry: StoredEntry | undefined = marked;
  while (entry !== undefined && entry.createRevision === marked.createRevision) {
    if ((await deleteEntry(core, entry)) !== undefined) return;
    entry = (await core.storage.get(marked.key)).entry;
  }
}

/** Mirrors AdmissionToValidateObjectDeleteFunc: both mutating and validating plugins see the deleted object. */
async function admitDeletion(
  core: StoreCore,
  context: RequestContext,
  namespace: string | undefined,
  oldObject: KubeObject,
  options: DeleteOptions,
): Promise<void> {
  if (core.admission.length === 0) return;
  const request = {
    operation: "DELETE",
    namespace,
    name: oldObject.metadata.name ?? "",
    object: undefined,
    oldObject,
    options: { apiVersion: "meta.k8s.io/v1", kind: "DeleteOptions", metadata: {}, ...options },
  } as const;
  await core.chains.admit(context, request);
  await core.chains.validate(context, request);
}

/**
 * Deletes the listed objects one after the other; objects that others delete meanwhile are no error.
 *
 * Mirrors k8s.io/apiserver/pkg/registry/generic/registry/store.go (DeleteCollection). @returns the old list
 */
export async function deleteCollection(
  core: StoreCore,
  context: RequestContext,
  namespace: string | undefined,
  options: ListOptions & DeleteOptions,
): Promise<KubeList> {
  const list = await listObjects(core, namespace, options);
  for (const { metadata } of list.items) {
    try {
      await deleteObject(core, context, metadata.namespace ?? namespace, metadata.name ?? "", options);
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason !== "NotFound") throw error;
    }
  }
  return list;
}
