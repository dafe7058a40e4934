import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { notFound, statusError } from "../../../../staging/apimachinery/errors.js";
import { applyPatch, type PatchType } from "../../../../staging/apimachinery/patch/patch.js";
import { decodeRequestBody, MAX_STRICT_ERRORS } from "../../../../staging/apimachinery/scheme/request.js";
import type { ResourceDefinition } from "../../registry/rest/definition.js";
import type { Transform, UpdateOptions } from "../../registry/rest/registry.js";
import { changesBetween } from "../../registry/rest/stages.js";
import type { Exchange } from "../exchange.js";
import { negotiate } from "../media-types.js";
import { type WriteOptions, writeOptions } from "../options.js";
import { readBody } from "../read-body.js";
import type { Target } from "../routes.js";
import type { HandlerDeps } from "./deps.js";
import { syncLastApplied } from "./last-applied.js";

const PATCHER = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go",
  func: "patcher.applyPatch",
};
const PATCH_TYPES = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
];
const MERGE_TYPE = "application/merge-patch+json";
const STRATEGIC_TYPE = "application/strategic-merge-patch+json";
const APPLY_TYPE = "application/apply-patch+yaml";

/** go-restful's check, before a handler runs. @throws StatusError 415 */
export function requirePatchType(exchange: Exchange, { custom }: ResourceDefinition): void {
  const type = patchTypeOf(exchange);
  if (custom !== undefined) requireCustomPatchType(type);
  if (type !== undefined && (PATCH_TYPES.includes(type) || type === APPLY_TYPE)) return;
  throw statusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {});
}

const CUSTOM_PATCH_TYPES = [PATCH_TYPES[0], PATCH_TYPES[1], APPLY_TYPE];

/** Custom resources have no strategic merge patch: their lists have no merge keys. Mirrors PatchResource. */
function requireCustomPatchType(type: string | undefined): void {
  if (type !== undefined && CUSTOM_PATCH_TYPES.includes(type)) return;
  const accepted = `accepted media types include: ${CUSTOM_PATCH_TYPES.join(", ")}`;
  throw statusError(415, "UnsupportedMediaType", `the body of the request was in an unknown format - ${accepted}`);
}

function patchTypeOf(exchange: Exchange): string | undefined {
  return exchange.request.headers["content-type"]?.split(";")[0]?.trim();
}

/** Mirrors k8s.io/apiserver/pkg/endpoints/handlers/patch.go (PatchResource). */
export async function patchObject(deps: HandlerDeps, exchange: Exchange, target: Target): Promise<void> {
  const { definition, qualified } = target.route;
  const type = patchTypeOf(exchange);
  const shown = negotiate(exchange.accept, "object");
  const options = writeOptions(exchange.query, "PatchOptions", type === APPLY_TYPE);
  const bytes = await readBody(exchange);
  const name = target.name ?? "";
  const change =
    type === APPLY_TYPE
      ? await applying(deps, exchange, target, bytes, options)
      : { transform: patching(exchange, target, type as PatchType, bytes, options) };
  const { object, created } = await deps.registry
    .store(qualified)
    .update(exchange.context(), target.namespace, name, target.subresource?.name, change.transform, change.options);
  if (!options.dryRun) change.stored?.(object);
  await deps.presenter.object(exchange, created ? 201 : 200, definition, object, shown);
}

interface Change {
  readonly transform: Transform;
  readonly options?: UpdateOptions;
  /** called with the stored object */
  stored?(object: KubeObject): void;
}

function patching(
  exchange: Exchange,
  { route: { definition }, name = "" }: Target,
  type: PatchType,
  bytes: Buffer,
  options: WriteOptions,
): Transform {
  return (current) => {
    if (current === undefined) throw notFound(definition, name);
    const { object, warnings } = applyPatch(definition, current, type, bytes, options.fieldValidation);
    warn(exchange, warnings);
    reportPatch(exchange, definition, `${bytes.length} bytes of ${type}`, current, object);
    return object;
  };
}

/** Reports what the client's patch changes in the current object. */
function reportPatch(
  { report }: Exchange,
  definition: ResourceDefinition,
  what: string,
  current: KubeObject,
  patched: KubeObject,
): void {
  report?.({
    what: `patch ${definition.kind} ${current.metadata.name ?? ""}: ${what}`,
    why: `applied to resourceVersion ${current.metadata.resourceVersion ?? ""}`,
    changes: changesBetween(definition, current, patched),
    upstream: PATCHER,
  });
}

/** Server-side apply: creates the object if it does not exist, otherwise merges into it. */
async function applying(
  { appliers }: HandlerDeps,
  exchange: Exchange,
  { route: { definition } }: Target,
  bytes: Buffer,
  { fieldValidation, fieldManager = "", force }: WriteOptions,
): Promise<Change> {
  const { fromYaml } = await import("../yaml.js");
  const { json, strictErrors } = fromYaml(bytes.toString());
  const applied: unknown = JSON.parse(json);
  const sent = decodeRequestBody(json, definition, fieldValidation, strictErrors);
  let before: KubeObject | undefined;
  return {
    options: { forceAllowCreate: true },
    transform(current) {
      before = current;
      if (current === undefined) {
        warn(exchange, sent.warnings);
        return sent.object;
      }
      const base = appliers.prepare(current, applied, fieldManager, force);
      const { object, warnings } =
        definition.custom === undefined
          ? applyPatch(definition, base, STRATEGIC_TYPE, json, fieldValidation)
          : applyPatch(
              definition,
              definition.custom.merge(base, applied) as KubeObject,
              MERGE_TYPE,
              "{}",
              fieldValidation,
            );
      warn(exchange, warnings);
      const merged = syncLastApplied(object, applied, fieldManager);
      reportPatch(exchange, definition, `${bytes.length} bytes of ${APPLY_TYPE}`, current, merged);
      return merged;
    },
    stored({ metadata: { uid = "" } }) {
      if (force && before !== undefined) appliers.takeOver(before, applied, fieldManager);
      appliers.remember(uid, applied, fieldManager);
    },
  };
}

/** A retry after a lost race runs the transformation again, so duplicate warnings are dropped. */
function warn(exchange: Exchange, texts: readonly string[]): void {
  const known = new Set(exchange.warnings);
  for (const text of texts.slice(0, MAX_STRICT_ERRORS)) if (!known.has(text)) exchange.warnings.push(text);
}
