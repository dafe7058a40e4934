import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { StatusError } from "../../../../staging/apimachinery/errors.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../../../staging/server/admission/interfaces.js";
import type { ResourceDefinition } from "./definition.js";
import type { RequestContext } from "./registry.js";
import { ADMISSION_FILE, changesBetween } from "./stages.js";

/** The attributes of one write; the others come from the resource and the request. */
export interface AdmissionRequest {
  readonly operation: AdmissionAttributes["operation"];
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource?: string | undefined;
  readonly object: KubeObject | undefined;
  readonly oldObject: KubeObject | undefined;
  readonly options?: KubeObject;
}

type AdmittedResource = Pick<ResourceDefinition, "group" | "version" | "resource" | "kind">;

const ADMIT = { file: ADMISSION_FILE, func: "chainAdmissionHandler.Admit" };
const VALIDATE = { file: ADMISSION_FILE, func: "chainAdmissionHandler.Validate" };

type Mutating = Required<Pick<AdmissionPlugin, "name" | "admit">>;
type Validating = Required<Pick<AdmissionPlugin, "name" | "validate">>;

/** The plugins that handle one kind of write, in order. */
interface Chain {
  readonly mutating: readonly Mutating[];
  readonly validating: readonly Validating[];
}

/** The admission plugins of one resource, grouped by the kinds of writes that they handle. */
export class AdmissionChains {
  readonly #chains = new Map<string, Chain>();
  /** number of plugins when the chains were built: plugins that need the registry are added later */
  #pluginCount = 0;

  constructor(
    readonly plugins: readonly AdmissionPlugin[],
    readonly resource: AdmittedResource,
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
    const handling = this.plugins.filter((plugin) => plugin.handles?.(write) !== false);
    return { mutating: handling.filter(isMutating), validating: handling.filter(isValidating) };
  }

  /**
   * Lets the mutating plugins change the object, one after the other.
   *
   * Mirrors k8s.io/apiserver/pkg/admission/chain.go (chainAdmissionHandler.Admit).
   * @returns the admitted object; undefined only if the request had none
   * @throws StatusError when a plugin refuses the request
   */
  async admit(context: RequestContext, request: AdmissionRequest): Promise<KubeObject | undefined> {
    const { mutating } = this.of(request.operation, request.subresource ?? "");
    if (mutating.length === 0) {
      if (context.report !== undefined) this.#reportAsked(context, request, "leave", mutating, ADMIT);
      return request.object;
    }
    const attributes = attributesOf(this.resource, context, request);
    let asked = "";
    try {
      for (const plugin of mutating) {
        asked = plugin.name;
        const answer = plugin.admit(attributes);
        // Most plugins answer synchronously; awaiting them would cost a microtask per plugin.
        const object = answer instanceof Promise ? await answer : answer;
        if (object === undefined) continue;
        if (object !== attributes.object) this.#reportChange(context, asked, attributes, object);
        attributes.object = object;
      }
      if (context.report !== undefined && attributes.object === request.object)
        this.#reportAsked(context, request, "leave", mutating, ADMIT);
      return attributes.object;
    } catch (error) {
      throw refused(context, asked, attributes, error, ADMIT);
    }
  }

  /** Runs the validating plugins. @throws StatusError when a plugin refuses the request */
  async validate(context: RequestContext, request: AdmissionRequest): Promise<void> {
    const { validating } = this.of(request.operation, request.subresource ?? "");
    if (validating.length > 0) {
      const attributes = attributesOf(this.resource, context, request);
      let asked = "";
      try {
        for (const plugin of validating) {
          asked = plugin.name;
          await plugin.validate(attributes);
        }
      } catch (error) {
        throw refused(context, asked, attributes, error, VALIDATE);
      }
    }
    if (context.report !== undefined) this.#reportAsked(context, request, "accept", validating, VALIDATE);
  }

  /** Reports which plugins had nothing to change or to refuse. */
  #reportAsked(
    context: RequestContext,
    request: AdmissionRequest,
    what: "leave" | "accept",
    plugins: readonly Pick<AdmissionPlugin, "name">[],
    upstream: typeof ADMIT,
  ): void {
    const subject = subjectOf(attributesOf(this.resource, context, request));
    const names = plugins.map(({ name }) => name).join(", ");
    context.report?.({
      what: what === "leave" ? `leave ${subject} as it is` : `accept ${subject}`,
      why: names === "" ? "no plugin handles it" : `asked: ${names}`,
      upstream,
    });
  }

  #reportChange({ report }: RequestContext, plugin: string, attributes: Attributes, object: KubeObject): void {
    if (report === undefined) return;
    const changes = changesBetween(this.resource, attributes.object, object);
    if (changes.length > 0)
      report({
        what: `change ${subjectOf(attributes)} by ${plugin}`,
        why: `the plugin handles ${attributes.operation} of ${attributes.resource}`,
        changes,
        upstream: ADMIT,
      });
  }
}

function isMutating(plugin: AdmissionPlugin): plugin is AdmissionPlugin & Mutating {
  return plugin.admit !== undefined;
}

function isValidating(plugin: AdmissionPlugin): plugin is AdmissionPlugin & Validating {
  return plugin.validate !== undefined;
}

/** @returns the error, after it was reported if it is a refusal */
function refused(
  { report }: RequestContext,
  plugin: string,
  attributes: Attributes,
  error: unknown,
  upstream: typeof ADMIT,
): unknown {
  if (error instanceof StatusError)
    report?.({ what: `refuse ${subjectOf(attributes)}`, why: `${plugin}: ${error.message}`, upstream });
  return error;
}

/** `create of pods default/web` */
function subjectOf({ operation, resource, subresource, namespace, name: given, object }: Attributes): string {
  const name = given === "" ? (object?.metadata.generateName ?? "") : given;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  return `${operation.toLowerCase()} of ${what} ${namespace === "" ? name : `${namespace}/${name}`}`;
}

type Attributes = { -readonly [K in keyof AdmissionAttributes]: AdmissionAttributes[K] };

function attributesOf(of: AdmittedResource, context: RequestContext, request: AdmissionRequest): Attributes {
  const { group, resource, kind } = of;
  const { operation, namespace = "", name, subresource = "", object, oldObject, options } = request;
  const attributes: Attributes = {
    user: context.user,
    operation,
    group,
    resource,
    kind,
    // A namespace is in itself. Mirrors createHandler in k8s.io/apiserver/pkg/endpoints/handlers/create.go.
    namespace: namespace === "" && group === "" && resource === "namespaces" ? name : namespace,
    subresource,
    name,
    object,
    oldObject,
    dryRun: context.dryRun === true,
    warnings: context.warnings,
  };
  if (context.auditId !== undefined) attributes.auditId = context.auditId;
  if (options !== undefined) attributes.options = options;
  return attributes;
}
