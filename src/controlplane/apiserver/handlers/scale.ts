import type { V1Deployment, V1ReplicationController, V1Scale } from "@kubernetes/client-node";
import type { KubeObject } from "../../../apimachinery/api/meta.js";
import { invalid, methodNotAllowed, notFound } from "../../../apimachinery/errors.js";
import { applyPatch, type PatchType } from "../../../apimachinery/patch/patch.js";
import type { Wire } from "../../../apimachinery/wire.js";
import type { ResourceDefinition } from "../../registry/definition.js";
import { checkName } from "../../registry/object-meta.js";
import type { Transform } from "../../registry/registry.js";
import { formatLabelSelector, formatLabels, NONE } from "../../registry/resources/cells.js";
import { invalidValue } from "../../registry/resources/field-errors.js";
import { decodeInto } from "../decode.js";
import type { Exchange } from "../exchange.js";
import { negotiate } from "../media-types.js";
import { writeOptions } from "../options.js";
import { readBody } from "../read-body.js";
import type { Target } from "../routes.js";
import type { HandlerDeps } from "./deps.js";

/** Any kind with a scale; a replication controller differs in its selector. */
type Workload = Wire<V1Deployment>;

const SCALE = {
  group: "autoscaling",
  version: "v1",
  kind: "Scale",
  schema: "Scale",
} as const;

export function isScale({ subresource }: Target): boolean {
  return subresource?.kind === SCALE.kind;
}

/**
 * The scale subresource (`kubectl scale`): the replica count of a workload.
 *
 * Mirrors pkg/registry/apps/deployment/storage/storage.go (ScaleREST, scaleFromDeployment, scaleUpdatedObjectInfo), also
 * for the other workloads.
 */
export async function scale(deps: HandlerDeps, exchange: Exchange, target: Target): Promise<void> {
  const { namespace, name = "", route } = target;
  const { definition, qualified } = route;
  const shown = negotiate(exchange.accept, "object");
  const store = deps.registry.store(qualified);
  let object: KubeObject;
  if (exchange.method === "GET") object = await store.get(namespace, name);
  else {
    const transform = await transformOf(exchange, definition, name);
    object = (await store.update(exchange.context(), namespace, name, undefined, transform)).object;
  }
  await deps.presenter.object(exchange, 200, definition, scaleOf(object), shown);
}

async function transformOf(exchange: Exchange, definition: ResourceDefinition, name: string): Promise<Transform> {
  const { method, request } = exchange;
  if (method !== "PUT" && method !== "PATCH") throw methodNotAllowed();
  const { fieldValidation } = writeOptions(exchange.query, method === "PUT" ? "UpdateOptions" : "PatchOptions");
  const bytes = await readBody(exchange);
  const type = request.headers["content-type"]?.split(";")[0]?.trim() as PatchType;
  const sent = method === "PUT" ? await decodeInto(exchange, bytes, SCALE, fieldValidation) : undefined;
  return (current) => {
    if (current === undefined) throw notFound(definition, name);
    const wanted = sent ?? applyPatch(SCALE, scaleOf(current), type, bytes, fieldValidation).object;
    checkName(wanted, name);
    const { replicas = 0 } = (wanted as Wire<V1Scale>).spec ?? {};
    if (replicas < 0) {
      throw invalid(SCALE, name, [invalidValue("spec.replicas", replicas, "must be greater than or equal to 0")]);
    }
    // A resourceVersion in the request is a precondition; without one, the last write wins.
    const { resourceVersion = "" } = wanted.metadata;
    const metadata = resourceVersion === "" ? current.metadata : { ...current.metadata, resourceVersion };
    return { ...current, metadata, spec: { ...(current as Workload).spec, replicas } };
  };
}

function scaleOf(object: KubeObject): KubeObject {
  const { metadata, spec, status } = object as Workload;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const count = spec?.replicas ?? 0;
  // A replication controller's selector is a plain map.
  const shown =
    object.kind === "ReplicationController"
      ? formatLabels((object as Wire<V1ReplicationController>).spec?.selector)
      : formatLabelSelector(spec?.selector);
  return {
    kind: SCALE.kind,
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp } as KubeObject["metadata"],
    spec: count === 0 ? {} : { replicas: count },
    status: {
      replicas: status?.replicas ?? 0,
      ...(shown === NONE ? {} : { selector: shown }),
    },
  };
}
