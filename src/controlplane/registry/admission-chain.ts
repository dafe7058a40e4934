import type { KubeObject } from "../../api/meta.js";
import type { AdmissionAttributes } from "../auth/contracts.js";
import type { RequestContext } from "./registry.js";
import type { StoreCore } from "./store-core.js";

/** What of a write changes from call to call; the rest of the attributes is the resource's and the request's. */
export interface AdmissionRequest {
  readonly operation: AdmissionAttributes["operation"];
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource?: string | undefined;
  readonly object: KubeObject | undefined;
  readonly oldObject: KubeObject | undefined;
  readonly options?: KubeObject;
}

function attributesOf(core: StoreCore, context: RequestContext, request: AdmissionRequest): AdmissionAttributes {
  const { group, resource, kind } = core.definition;
  const { operation, namespace = "", name, subresource = "", object, oldObject, options } = request;
  const attributes: { -readonly [K in keyof AdmissionAttributes]: AdmissionAttributes[K] } = {
    user: context.user,
    operation,
    group,
    resource,
    kind,
    // A namespace counts as being in itself. Mirrors createHandler in k8s.io/apiserver/pkg/endpoints/handlers/create.go.
    namespace: namespace === "" && group === "" && resource === "namespaces" ? name : namespace,
    subresource,
    name,
    object,
    oldObject,
    dryRun: context.dryRun === true,
  };
  if (context.auditId !== undefined) attributes.auditId = context.auditId;
  if (options !== undefined) attributes.options = options;
  return attributes;
}

/**
 * Lets the mutating plugins change the object, one after the other.
 *
 * Mirrors k8s.io/apiserver/pkg/admission/chain.go (chainAdmissionHandler.Admit).
 * @returns the object to go on with; undefined only where there was none
 * @throws StatusError what a plugin refuses
 */
export async function admit(
  core: StoreCore,
  context: RequestContext,
  request: AdmissionRequest,
): Promise<KubeObject | undefined> {
  let attributes: AdmissionAttributes | undefined;
  for (const plugin of core.admission) {
    if (plugin.admit === undefined) continue;
    attributes ??= attributesOf(core, context, request);
    const object = await plugin.admit(attributes);
    if (object !== undefined && object !== attributes.object) attributes = { ...attributes, object };
  }
  return attributes === undefined ? request.object : attributes.object;
}

/** Asks the validating plugins. @throws StatusError what a plugin refuses */
export async function validateAdmission(
  core: StoreCore,
  context: RequestContext,
  request: AdmissionRequest,
): Promise<void> {
  let attributes: AdmissionAttributes | undefined;
  for (const plugin of core.admission) {
    if (plugin.validate === undefined) continue;
    attributes ??= attributesOf(core, context, request);
    await plugin.validate(attributes);
  }
}
