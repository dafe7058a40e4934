import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { Scale } from "../../../../staging/apimachinery/api/objects.js";
import { methodNotAllowed, StatusError } from "../../../../staging/apimachinery/errors.js";
import { applyPatch, type PatchType } from "../../../../staging/apimachinery/patch/patch.js";
import type { ResourceDefinition } from "../../registry/rest/definition.js";
import { checkName } from "../../registry/rest/object-meta.js";
import type { Transform } from "../../registry/rest/registry.js";
import { SCALE_KIND, scaleNotFound, scaleViewOf } from "../../registry/rest/scale.js";
import { decodeInto } from "../decode.js";
import type { Exchange } from "../exchange.js";
import { negotiate } from "../media-types.js";
import { writeOptions } from "../options.js";
import { readBody } from "../read-body.js";
import type { Target } from "../routes.js";
import type { HandlerDeps } from "./deps.js";

export function isScale({ subresource }: Target): boolean {
  return subresource?.kind === SCALE_KIND.kind;
}

/**
 * The scale subresource (`kubectl scale`): the replica count of a workload.
 * Mirrors pkg/registry/apps/deployment/storage/storage.go (ScaleREST).
 */
export async function scale(deps: HandlerDeps, exchange: Exchange, target: Target): Promise<void> {
  const { namespace, name = "", route } = target;
  const { definition, qualified } = route;
  const shown = negotiate(exchange.accept, "object");
  const store = deps.registry.store(qualified);
  let object: KubeObject;
  if (exchange.method === "GET") object = await store.get(namespace, name).catch(orMissing(definition, name));
  else {
    const transform = await transformOf(exchange, definition, name);
    const update = store.update(exchange.context(), namespace, name, undefined, transform);
    object = (await update.catch(orMissing(definition, name))).object;
  }
  await deps.presenter.object(exchange, 200, definition, scaleViewOf(definition).scaleOf(object), shown);
}

function orMissing(definition: ResourceDefinition, name: string) {
  return (error: unknown): never => {
    throw error instanceof StatusError && error.reason === "NotFound" ? scaleNotFound(definition, name) : error;
  };
}

async function transformOf(exchange: Exchange, definition: ResourceDefinition, name: string): Promise<Transform> {
  const { method, request } = exchange;
  if (method !== "PUT" && method !== "PATCH") throw methodNotAllowed();
  const { fieldValidation } = writeOptions(exchange.query, method === "PUT" ? "UpdateOptions" : "PatchOptions");
  const bytes = await readBody(exchange);
  const type = request.headers["content-type"]?.split(";")[0]?.trim() as PatchType;
  const sent = method === "PUT" ? await decodeInto(exchange, bytes, SCALE_KIND, fieldValidation) : undefined;
  const view = scaleViewOf(definition);
  return (current) => {
    if (current === undefined) throw scaleNotFound(definition, name);
    const wanted = sent ?? applyPatch(SCALE_KIND, view.scaleOf(current), type, bytes, fieldValidation).object;
    checkName(wanted, name);
    return view.withScale(current, wanted as Scale);
  };
}
