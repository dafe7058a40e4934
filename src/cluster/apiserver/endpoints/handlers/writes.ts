import type { KubeObject, Status } from "../../../../staging/apimachinery/api/meta.js";
import type { DeleteOptions } from "../../../../staging/apimachinery/api/options.js";
import { groupVersion } from "../../../../staging/apimachinery/api/resource.js";
import type { ResourceDefinition } from "../../registry/rest/definition.js";
import { checkName } from "../../registry/rest/object-meta.js";
import { decodeDeleteBody, decodeInto } from "../decode.js";
import type { Exchange } from "../exchange.js";
import { negotiate } from "../media-types.js";
import { check, dryRunProblems, integer, listOptions, writeOptions } from "../options.js";
import { readBody } from "../read-body.js";
import { isTrue } from "../request-info.js";
import { writeValue } from "../responsewriters/answer.js";
import type { Target } from "../routes.js";
import type { HandlerDeps } from "./deps.js";

/** Mirrors k8s.io/apiserver/pkg/endpoints/handlers/create.go (createHandler). */
export async function createObject(deps: HandlerDeps, exchange: Exchange, target: Target): Promise<void> {
  const { definition, qualified } = target.route;
  const shown = negotiate(exchange.accept, "object");
  const options = writeOptions(exchange.query, "CreateOptions");
  const bytes = await readBody(exchange);
  const object = await decodeInto(exchange, bytes, definition, options.fieldValidation);
  const created = await deps.registry.store(qualified).create(exchange.context(), target.namespace, object);
  await deps.presenter.object(exchange, 201, definition, created, shown);
}

/** Mirrors k8s.io/apiserver/pkg/endpoints/handlers/update.go (UpdateResource). */
export async function updateObject(deps: HandlerDeps, exchange: Exchange, target: Target): Promise<void> {
  const { definition, qualified } = target.route;
  const shown = negotiate(exchange.accept, "object");
  const options = writeOptions(exchange.query, "UpdateOptions");
  const bytes = await readBody(exchange);
  const object = await decodeInto(exchange, bytes, definition, options.fieldValidation);
  checkName(object, target.name ?? "");
  const { uid } = object.metadata;
  const preconditions = uid === undefined || uid === "" ? {} : { uid };
  const { object: stored, created } = await deps.registry
    .store(qualified)
    .update(
      exchange.context(),
      target.namespace,
      target.name ?? "",
      target.subresource?.name,
      () => object,
      preconditions,
    );
  await deps.presenter.object(exchange, created ? 201 : 200, definition, stored, shown);
}

/** Mirrors k8s.io/apiserver/pkg/endpoints/handlers/delete.go (DeleteResource). */
export async function deleteObject(deps: HandlerDeps, exchange: Exchange, target: Target): Promise<void> {
  const { definition, qualified } = target.route;
  const shown = negotiate(exchange.accept, "object");
  const { dryRun, ...options } = await deleteOptions(exchange, definition);
  const context = exchange.context();
  const { object, gone } = await deps.registry
    .store(qualified)
    .delete(dryRun ? { ...context, dryRun } : context, target.namespace, target.name ?? "", options);
  if (definition.deleteReturnsObject === true || !gone) {
    return deps.presenter.object(exchange, 200, definition, object, shown);
  }
  await writeValue(exchange, 200, deletedStatus(target, object), { mediaType: shown.mediaType });
}

/** Mirrors k8s.io/apiserver/pkg/endpoints/handlers/delete.go (DeleteCollection). */
export async function deleteCollection(deps: HandlerDeps, exchange: Exchange, target: Target): Promise<void> {
  const { definition, qualified } = target.route;
  const shown = negotiate(exchange.accept, "object");
  const selection = listOptions(exchange.query);
  const { dryRun, ...options } = await deleteOptions(exchange, definition);
  const context = exchange.context();
  const list = await deps.registry
    .store(qualified)
    .deleteCollection(dryRun ? { ...context, dryRun } : context, target.namespace, { ...selection, ...options });
  await deps.presenter.list(exchange, definition, list, shown);
}

async function deleteOptions(
  exchange: Exchange,
  { group, version }: ResourceDefinition,
): Promise<DeleteOptions & { readonly dryRun: boolean }> {
  const { query } = exchange;
  const bytes = await readBody(exchange);
  // Query parameters apply only if the request has no body.
  if (bytes.length === 0) {
    const gracePeriodSeconds = integer(query, "gracePeriodSeconds");
    const propagationPolicy = query.get("propagationPolicy") ?? undefined;
    const { dryRun } = writeOptions(query, "DeleteOptions");
    checkPropagation(propagationPolicy);
    return {
      dryRun,
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
      ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
      ...(query.has("orphanDependents") ? { orphanDependents: isTrue(query, "orphanDependents") } : {}),
    };
  }
  return bodyOptions(await decodeDeleteBody(exchange, bytes, groupVersion({ group, version })));
}

function bodyOptions(body: KubeObject): DeleteOptions & { readonly dryRun: boolean } {
  const {
    gracePeriodSeconds,
    preconditions,
    propagationPolicy,
    orphanDependents,
    dryRun = [],
  } = body as KubeObject & DeleteOptions & { readonly dryRun?: readonly string[] };
  check("DeleteOptions", dryRunProblems(dryRun));
  checkPropagation(propagationPolicy);
  return {
    dryRun: dryRun.length > 0,
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(preconditions === undefined ? {} : { preconditions }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
  };
}

const PROPAGATION_POLICIES = ["Foreground", "Background", "Orphan"];

function checkPropagation(policy: string | undefined): void {
  if (policy === undefined || policy === "" || PROPAGATION_POLICIES.includes(policy)) return;
  const supported = [...PROPAGATION_POLICIES, "nil"].map((one) => JSON.stringify(one)).join(", ");
  const text = `Unsupported value: ${JSON.stringify(policy)}: supported values: ${supported}`;
  check("DeleteOptions", [{ type: "FieldValueNotSupported", field: "propagationPolicy", text }]);
}

function deletedStatus({ route }: Target, object: KubeObject): Status {
  const { group, resource } = route.definition;
  const { name, uid } = object.metadata;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      ...(name === undefined ? {} : { name }),
      ...(group === "" ? {} : { group }),
      kind: resource,
      ...(uid === undefined ? {} : { uid }),
    },
  };
}
