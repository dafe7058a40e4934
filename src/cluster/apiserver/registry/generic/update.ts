import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { isPathSegmentName } from "../../../../staging/apimachinery/api/names.js";
import { conflict, internalError, invalid, notFound } from "../../../../staging/apimachinery/errors.js";
import { sameJson } from "../../../../staging/apimachinery/same-json.js";
import type { StoredEntry } from "../../storage/storage.js";
import type { Strategy } from "../rest/definition.js";
import { checkName, matchNamespace, withMeta } from "../rest/object-meta.js";
import type { RequestContext, Transform, UpdateOptions } from "../rest/registry.js";
import { changesBetween, readStage, reportDryRun, reportValidation } from "../rest/stages.js";
import { reportBegun, whileBegun } from "../rest/store-hooks.js";
import { validateMeta, validateMetaUpdate } from "../rest/validate-meta.js";
import { beforeCreate, beginCreate } from "./create.js";
import {
  type Attempted,
  checkUid,
  compareAndPut,
  GUARANTEED_UPDATE,
  guaranteedUpdate,
  reportUnchanged,
} from "./guaranteed-update.js";
import { type StoreCore, strategyContext } from "./store-core.js";
import { createEntry, deleteEntry } from "./write-entry.js";

const UPSTREAM = { file: "staging/src/k8s.io/apiserver/pkg/registry/rest/update.go", func: "BeforeUpdate" };
const VALIDATE = { ...UPSTREAM, func: "strategy.ValidateUpdate" };
const OPTIMISTIC_LOCK = "the object has been modified; please apply your changes to the latest version and try again";

const MAX_UINT64 = 2n ** 64n - 1n;

export interface UpdateTarget {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource: string | undefined;
}

export interface UpdateOutcome extends Attempted {
  readonly object: KubeObject;
  readonly created: boolean;
}

/**
 * Transforms, admits, validates, compares and puts, each time that `guaranteedUpdate` calls it.
 *
 * Mirrors k8s.io/apiserver/pkg/registry/generic/registry/store.go (Store.Update).
 */
export async function updateObject(
  core: StoreCore,
  context: RequestContext,
  target: UpdateTarget,
  transform: Transform,
  options: UpdateOptions = {},
): Promise<UpdateOutcome> {
  const key = core.keys.key(target.namespace, target.name);
  const updated = await guaranteedUpdate(core, context, key, async (entry, why) => {
    context.report?.(readStage(key, entry, why, GUARANTEED_UPDATE));
    checkUid(core, key, target.name, options.uid, entry);
    return entry === undefined
      ? createMissing(core, context, target, key, transform, options)
      : updateExisting(core, context, target, entry, transform);
  });
  if (updated === undefined) throw conflict(core.definition, target.name, OPTIMISTIC_LOCK);
  return updated;
}

/** @returns undefined if the object exists by now */
async function createMissing(
  core: StoreCore,
  context: RequestContext,
  target: UpdateTarget,
  key: string,
  transform: Transform,
  options: UpdateOptions,
): Promise<UpdateOutcome | undefined> {
  const { namespace, name, subresource } = target;
  const mayCreate = subresource === undefined && core.definition.strategy.allowCreateOnUpdate === true;
  if (!mayCreate && options.forceAllowCreate !== true) throw notFound(core.definition, name);
  const sent = await transform(undefined);
  checkName(sent, name);
  const body = withMeta(matchNamespace(core.definition, namespace, sent), { resourceVersion: undefined });
  const request = { operation: "CREATE", ...target, oldObject: undefined } as const;
  const admitted = (await core.chains.admit(context, { ...request, object: body })) ?? body;
  return whileBegun(await beginCreate(core, context, admitted), admitted, async (begun) => {
    const object = beforeCreate(core, context, namespace, begun);
    await core.chains.validate(context, { ...request, object });
    if (context.dryRun === true) {
      reportDryRun(context.report, key);
      return { object, created: true };
    }
    const entry = await createEntry(core, context, key, object);
    return entry === undefined ? undefined : { object: core.read(entry), created: true };
  });
}

/** @returns undefined if the entry is no longer the current one */
async function updateExisting(
  core: StoreCore,
  context: RequestContext,
  target: UpdateTarget,
  entry: StoredEntry,
  transform: Transform,
): Promise<UpdateOutcome | undefined> {
  const { namespace, name } = target;
  const old = core.read(entry);
  const sent = await transform(old);
  checkName(sent, name);
  const body = matchNamespace(core.definition, namespace, sent);
  const request = { operation: "UPDATE", ...target, oldObject: old } as const;
  const admitted = (await core.chains.admit(context, { ...request, object: body })) ?? body;
  const versioned = checkVersion(core, admitted, entry);
  const { dryRun = false } = context;
  // The strategy of a subresource keeps what a hook would change.
  const hooks = target.subresource === undefined ? core.hooks : undefined;
  const allocated = await hooks?.beginUpdate(versioned, old, { dryRun });
  if (allocated !== undefined) reportBegun(core.definition, context.report, versioned, allocated, "BeginUpdate");
  return whileBegun(allocated, versioned, async (begun) => {
    const object = beforeUpdate(core, context, target.subresource, begun, old);
    await core.chains.validate(context, { ...request, object });
    if (shouldDeleteDuringUpdate(core.definition.strategy, object, old)) {
      const isGone = dryRun || (await deleteEntry(core, context, entry)) !== undefined;
      return isGone ? { object, created: false } : undefined;
    }
    if (sameJson(object, old)) {
      reportUnchanged(context, entry);
      return { object: old, created: false, isUnchanged: true };
    }
    if (dryRun) {
      reportDryRun(context.report, entry.key);
      return { object, created: false };
    }
    const written = await compareAndPut(core, context, entry, object);
    return written === undefined ? undefined : { object: core.read(written), created: false };
  });
}

/** The resourceVersion must be the current one. Some kinds can omit it. */
function checkVersion(core: StoreCore, object: KubeObject, entry: StoredEntry): KubeObject {
  const { definition } = core;
  const { name = "", resourceVersion = "" } = object.metadata;
  if (!/^\d*$/.test(resourceVersion)) {
    throw internalError(`strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`);
  }
  if (resourceVersion.length > 19 && BigInt(resourceVersion) > MAX_UINT64) {
    throw internalError(`strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: value out of range`);
  }
  const current = entry.object.metadata.resourceVersion;
  if (Number(resourceVersion) !== 0) {
    if (Number(resourceVersion) !== Number(current)) throw conflict(definition, name, OPTIMISTIC_LOCK);
    return object;
  }
  if (definition.strategy.allowUnconditionalUpdate === true) {
    return withMeta(object, { resourceVersion: current });
  }
  const field = "metadata.resourceVersion";
  const text = "Invalid value: 0x0: must be specified for an update";
  // This message names the resource where all others name the kind, as upstream's does by mistake.
  const asKind = { group: definition.group, kind: definition.resource };
  throw invalid(asKind, name, [{ type: "FieldValueInvalid", field, text }]);
}

/** Mirrors k8s.io/apiserver/pkg/registry/rest/update.go (BeforeUpdate). @throws StatusError 422 */
function beforeUpdate(
  core: StoreCore,
  context: RequestContext,
  subresource: string | undefined,
  sent: KubeObject,
  old: KubeObject,
): KubeObject {
  const { definition } = core;
  const strategy = strategyOf(core, subresource);
  const kind = strategyContext(core, context);
  const versioned = withMeta(sent, { generation: old.metadata.generation });
  const prepared = strategy.prepareForUpdate?.(versioned, old, kind) ?? versioned;
  const { uid, deletionTimestamp, deletionGracePeriodSeconds } = prepared.metadata;
  const before = old.metadata;
  const object = withMeta(prepared, {
    uid: uid === undefined || uid === "" ? before.uid : uid,
    creationTimestamp: before.creationTimestamp,
    deletionTimestamp: before.deletionTimestamp ?? deletionTimestamp ?? undefined,
    deletionGracePeriodSeconds: deletionGracePeriodSeconds ?? before.deletionGracePeriodSeconds,
  });
  context.report?.({
    what: `prepare ${definition.kind} ${before.name ?? ""}`,
    why: "the server's own fields stay as they are",
    changes: changesBetween(definition, sent, object),
    upstream: UPSTREAM,
  });
  const metaErrors = validateMetaUpdate(object.metadata, before);
  const errors = [
    ...validateMeta(object.metadata, definition.namespaced, isPathSegmentName),
    ...metaErrors,
    // Upstream, every kind's validation repeats these checks, so the message contains them twice.
    ...metaErrors,
    ...(strategy.validateUpdate?.(object, old, kind) ?? []),
  ];
  reportValidation(context.report, object, errors, VALIDATE);
  if (errors.length > 0) throw invalid(core.storing, object.metadata.name ?? "", errors);
  if (strategy.warningsOnUpdate !== undefined) context.warnings.push(...strategy.warningsOnUpdate(object, old, kind));
  return object;
}

function strategyOf(
  core: StoreCore,
  subresource: string | undefined,
): Pick<Strategy, "prepareForUpdate" | "validateUpdate" | "warningsOnUpdate"> {
  if (subresource === undefined) return core.definition.strategy;
  const row = core.definition.subresources?.find((one) => one.name === subresource);
  if (row?.strategy === undefined) throw new Error(`${core.definition.resource}/${subresource} cannot be updated`);
  return row.strategy;
}

/** Removing the last finalizer removes the object. Mirrors ShouldDeleteDuringUpdate and its variant for namespaces. */
function shouldDeleteDuringUpdate(strategy: Strategy, object: KubeObject, { metadata: old }: KubeObject): boolean {
  if (old.deletionTimestamp === undefined || (old.deletionGracePeriodSeconds ?? 0) > 0) return false;
  return (object.metadata.finalizers ?? []).length === 0 && strategy.hasOwnFinalizers?.(object) !== true;
}
