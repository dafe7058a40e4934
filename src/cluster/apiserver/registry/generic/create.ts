import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { isDns1123Subdomain, isPathSegmentName } from "../../../../staging/apimachinery/api/names.js";
import {
  alreadyExists,
  internalError,
  invalid,
  StatusError,
  statusError,
} from "../../../../staging/apimachinery/errors.js";
import type { Draft } from "../../../../util/draft.js";
import { type Random, randomOf, randomSuffix } from "../../../../util/random.js";
import { addErrors } from "../rest/field-errors.js";
import { type MetaChanges, matchNamespace, timestamp, withMeta } from "../rest/object-meta.js";
import type { RequestContext } from "../rest/registry.js";
import { changesBetween, reportDryRun, reportValidation } from "../rest/stages.js";
import { type Begun, reportBegun, whileBegun } from "../rest/store-hooks.js";
import { validateMeta, validateNames } from "../rest/validate-meta.js";
import { type StoreCore, strategyContext } from "./store-core.js";
import { createEntry } from "./write-entry.js";

const UPSTREAM = { file: "staging/src/k8s.io/apiserver/pkg/registry/rest/create.go", func: "BeforeCreate" };
const VALIDATE = { ...UPSTREAM, func: "strategy.Validate" };
const MAX_NAME_LENGTH = 63;
const SUFFIX_LENGTH = 5;

/**
 * Mutating admission, preparation and validation, validating admission, storage.
 *
 * Mirrors k8s.io/apiserver/pkg/registry/generic/registry/store.go (Store.Create) and the create handler before it.
 */
export async function createObject(
  core: StoreCore,
  context: RequestContext,
  namespace: string | undefined,
  sent: KubeObject,
): Promise<KubeObject> {
  const body = matchNamespace(core.definition, namespace, sent);
  const request = { operation: "CREATE", namespace, name: body.metadata.name ?? "", oldObject: undefined } as const;
  const admitted = (await core.chains.admit(context, { ...request, object: body })) ?? body;
  return whileBegun(await beginCreate(core, context, admitted), admitted, async (begun) => {
    const object = beforeCreate(core, context, namespace, begun);
    const name = object.metadata.name ?? "";
    await core.chains.validate(context, { ...request, name, object });
    return storeNew(core, context, namespace, object);
  });
}

/** Lets the kind begin the creation of an object, if it has hooks. */
export async function beginCreate(
  { hooks, definition }: StoreCore,
  { dryRun = false, report }: RequestContext,
  object: KubeObject,
): Promise<Begun | undefined> {
  const begun = await hooks?.beginCreate(object, { dryRun });
  if (begun !== undefined) reportBegun(definition, report, object, begun, "BeginCreate");
  return begun;
}

/**
 * Sets the server's fields, lets the kind prepare the object, and validates it.
 *
 * Mirrors k8s.io/apiserver/pkg/registry/rest/create.go (BeforeCreate) and meta.go (FillObjectMetaSystemFields).
 * @throws StatusError 422
 */
export function beforeCreate(
  core: StoreCore,
  context: RequestContext,
  namespace: string | undefined,
  admitted: KubeObject,
): KubeObject {
  const { definition } = core;
  const { strategy } = definition;
  const kind = strategyContext(core, context);
  const { name = "", generateName = "" } = admitted.metadata;
  const wanted = `${definition.resource} ${namespace ?? ""}/${name === "" ? `${generateName}*` : name}`;
  const random = randomOf(core.random, wanted);
  const changes: Draft<MetaChanges> = { uid: random.uuid(), creationTimestamp: timestamp(kind.nowMs) };
  if (name === "" && generateName !== "") changes.name = generatedName(random, generateName);
  if (isMarkedForDeletion(admitted)) {
    changes.deletionTimestamp = undefined;
    changes.deletionGracePeriodSeconds = undefined;
  }
  const filled = withMeta(admitted, changes);
  const matched = matchNamespace(definition, namespace, filled);
  const object = strategy.prepareForCreate?.(matched, kind) ?? matched;
  context.report?.({
    what: `prepare ${definition.kind} ${object.metadata.name ?? ""}`,
    why: `it gets a uid and its creation time${changes.name === undefined ? "" : `, and a name that begins with ${generateName}`}`,
    changes: changesBetween(definition, admitted, object),
    upstream: UPSTREAM,
  });
  const checkName = strategy.validateName?.bind(strategy) ?? isDns1123Subdomain;
  const errors = validateMeta(object.metadata, definition.namespaced, checkName);
  if (strategy.validate !== undefined) addErrors(errors, strategy.validate(object, kind));
  if (errors.length === 0) errors.push(...validateNames(object.metadata, isPathSegmentName));
  reportValidation(context.report, object, errors, VALIDATE);
  if (errors.length > 0) throw invalid(core.storing, object.metadata.name ?? "", errors);
  if (strategy.warningsOnCreate !== undefined) context.warnings.push(...strategy.warningsOnCreate(object, kind));
  return object;
}

function isMarkedForDeletion({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined || metadata.deletionGracePeriodSeconds !== undefined;
}

/** Mirrors k8s.io/apiserver/pkg/storage/names/generate.go (simpleNameGenerator). */
function generatedName(random: Random, base: string): string {
  return base.slice(0, MAX_NAME_LENGTH - SUFFIX_LENGTH) + randomSuffix(random, SUFFIX_LENGTH);
}

async function storeNew(
  core: StoreCore,
  context: RequestContext,
  namespace: string | undefined,
  object: KubeObject,
): Promise<KubeObject> {
  const key = core.keys.key(namespace, object.metadata.name ?? "");
  if (context.dryRun === true) {
    if ((await core.storage.get(key)).entry !== undefined) throw await existsAlready(core, key, object);
    reportDryRun(context.report, key);
    return object;
  }
  if (isSetVersion(object.metadata.resourceVersion)) {
    throw internalError("resourceVersion should not be set on objects to be created");
  }
  const entry = await createEntry(core, context, key, object);
  if (entry === undefined) throw await existsAlready(core, key, object);
  return core.read(entry);
}

/** A version that is not a number counts as absent, as upstream. */
function isSetVersion(resourceVersion = ""): boolean {
  return /^\d+$/.test(resourceVersion) && Number(resourceVersion) !== 0;
}

async function existsAlready(core: StoreCore, key: string, object: KubeObject): Promise<StatusError> {
  const { name = "", generateName = "" } = object.metadata;
  const error = alreadyExists(core.definition, name);
  const { entry } = await core.storage.get(key);
  if (entry?.object.metadata.deletionTimestamp !== undefined) {
    return new StatusError({ ...error.status, message: `object is being deleted: ${error.message}` });
  }
  if (generateName === "" || !name.startsWith(generateName.slice(0, MAX_NAME_LENGTH - SUFFIX_LENGTH))) return error;
  // Mirrors NewGenerateNameConflict in k8s.io/apimachinery/pkg/api/errors/errors.go.
  const message = `${error.message}, the server was not able to generate a unique name for the object`;
  return statusError(409, "AlreadyExists", message, { ...error.status.details, retryAfterSeconds: 1 });
}
