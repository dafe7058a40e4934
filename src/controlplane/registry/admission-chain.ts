import type { KubeObject } from "../../apimachinery/api/meta.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../auth/contracts.js";
import type { ResourceDefinition } from "./definition.js";
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

/** Those that one kind of write meets, in their order. */
interface Chain {
  readonly mutating: readonly Required<Pick<AdmissionPlugin, "admit">>[];
  readonly validating: readonly Required<Pick<AdmissionPlugin, "validate">>[];
}

/** The plugins of one resource: most have nothing to say about most kinds of writes, and are not asked again. */
export class AdmissionChains {
  readonly #chains = new Map<string, Chain>();
  /** how many plugins there were when the chains were made: those that need the registry are added after it */
  #pluginCount = 0;

  constructor(
    readonly plugins: readonly AdmissionPlugin[],
    readonly resource: Pick<ResourceDefinition, "group" | "resource">,
  ) {}

  of(operation: AdmissionAttributes["operation"], subresource: string): Chain {
    if (this.#pluginCount !== this.plugins.length) this.#chains.clear();
    this.#pluginCount = this.plugins.length;
    const key = subresource === "" ? operation : `${operation} ${subresource}`;
    let chain = this.#chains.get(key);
    if (chain === undefined) {
      chain = this.#chain(operation, subresource);
      this.#chains.set(key, chain);
    }
    return chain;
  }

  #chain(operation: AdmissionAttributes["operation"], subresource: string): Chain {
    const { group, resource } = this.resource;
    const write = { operation, group, resource, subresource };
    const asked = this.plugins.filter((plugin) => plugin.handles?.(write) !== false);
    return { mutating: asked.filter(isMutating), validating: asked.filter(isValidating) };
  }
}

function isMutating(plugin: AdmissionPlugin): plugin is AdmissionPlugin & Required<Pick<AdmissionPlugin, "admit">> {
  return plugin.admit !== undefined;
}

function isValidating(
  plugin: AdmissionPlugin,
): plugin is AdmissionPlugin & Required<Pick<AdmissionPlugin, "validate">> {
  return plugin.validate !== undefined;
}

type Attributes = { -readonly [K in keyof AdmissionAttributes]: AdmissionAttributes[K] };

function attributesOf(core: StoreCore, context: RequestContext, request: AdmissionRequest): Attributes {
  const { group, resource, kind } = core.definition;
  const { operation, namespace = "", name, subresource = "", object, oldObject, options } = request;
  const attributes: Attributes = {
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
  const { mutating } = core.chains.of(request.operation, request.subresource ?? "");
  if (mutating.length === 0) return request.object;
  const attributes = attributesOf(core, context, request);
  for (const plugin of mutating) {
    const answer = plugin.admit(attributes);
    // Most plugins answer at once, and a turn of the microtask queue for each of them would be dearer than they are.
    const object = answer instanceof Promise ? await answer : answer;
    if (object !== undefined) attributes.object = object;
  }
  return attributes.object;
}

/** Asks the validating plugins. @throws StatusError what a plugin refuses */
export async function validateAdmission(
  core: StoreCore,
  context: RequestContext,
  request: AdmissionRequest,
): Promise<void> {
  const { validating } = core.chains.of(request.operation, request.subresource ?? "");
  if (validating.length === 0) return;
  const attributes = attributesOf(core, context, request);
  for (const plugin of validating) await plugin.validate(attributes);
}
