import type { KubeList, KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { DeleteOptions, ListOptions } from "../../../../staging/apimachinery/api/options.js";
import { conflict, notFound, StatusError } from "../../../../staging/apimachinery/errors.js";
import { sameJson } from "../../../../staging/apimachinery/same-json.js";
import type { StoredEntry } from "../../storage/storage.js";
import { type DeletionPlan, planDeletion } from "../rest/deletion-plan.js";
import type { RequestContext } from "../rest/registry.js";
import { changesBetween, readStage, reportDryRun, type Stage } from "../rest/stages.js";
import { type Attempted, compareAndPut, guaranteedUpdate } from "./guaranteed-update.js";
import { listObjects } from "./list.js";
import { type StoreCore, strategyContext } from "./store-core.js";
import { deleteEntry } from "./write-entry.js";

const CONDITIONAL_DELETE = {
  file: "staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go",
  func: "conditionalDelete",
};
const BEFORE_DELETE = { file: "staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go", func: "BeforeDelete" };

export interface DeleteOutcome extends Attempted {
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
  const deleted = await guaranteedUpdate(core, context, key, async (entry, why) => {
    context.report?.(readStage(key, entry, why, CONDITIONAL_DELETE));
    if (entry === undefined) throw notFound(core.definition, name);
    return tryDelete(core, context, namespace, entry, options);
  });
  if (deleted === undefined) throw conflict(core.definition, name, "too many others write to it");
  return deleted;
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
  context.report?.(planStage(core, plan, current));
  if (plan.type === "pending") return { object: current, gone: false, isUnchanged: true };
  await admitDeletion(core, context, namespace, current, options);
  if (plan.type === "remove") {
    if (context.dryRun === true) {
      reportDryRun(context.report, entry.key);
      return { object: current, gone: true };
    }
    const removed = await deleteEntry(core, context, entry);
    return removed === undefined ? undefined : { object: current, gone: true };
  }
  if (context.dryRun === true) {
    reportDryRun(context.report, entry.key);
    return { object: plan.object, gone: plan.thenRemove };
  }
  const marked = sameJson(plan.object, current) ? entry : await compareAndPut(core, context, entry, plan.object);
  if (marked === undefined) return undefined;
  if (plan.thenRemove) await removeMarked(core, context, marked);
  return { object: core.read(marked), gone: plan.thenRemove, isUnchanged: marked === entry && !plan.thenRemove };
}

function planStage({ definition }: StoreCore, plan: DeletionPlan, current: KubeObject): Stage {
  const told = plan.type === "mark" ? (plan.thenRemove ? "mark and remove" : "mark") : plan.type;
  return {
    what: `delete ${definition.kind} ${current.metadata.name ?? ""}: ${PLANS[told]}`,
    why: reasonOf(plan, current),
    ...(plan.type === "mark" ? { changes: changesBetween(definition, current, plan.object) } : {}),
    upstream: BEFORE_DELETE,
  };
}

const PLANS = {
  remove: "it is removed at once",
  pending: "nothing changes",
  mark: "it is marked, and stays",
  "mark and remove": "it is marked, then removed",
};

function reasonOf(plan: DeletionPlan, { metadata }: KubeObject): string {
  if (plan.type === "pending") return `it is being deleted since ${metadata.deletionTimestamp ?? "before"}`;
  if (plan.type === "remove") return "it has neither a grace period nor finalizers";
  const { deletionGracePeriodSeconds = 0, finalizers = [] } = plan.object.metadata;
  const waits = finalizers.length > 0 ? `; it waits for the finalizers ${finalizers.join(", ")}` : "";
  return `grace period: ${deletionGracePeriodSeconds} s${waits}`;
}

/** Removes the marked object, unless another client has removed it already. */
async function removeMarked(core: StoreCore, context: RequestContext, marked: StoredEntry): Promise<void> {
  let entry: StoredEntry | undefined = marked;
  while (entry !== undefined && entry.createRevision === marked.createRevision) {
    if ((await deleteEntry(core, context, entry)) !== undefined) return;
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
