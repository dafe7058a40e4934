import type { TraceEvent } from "../../events.js";
import { parseBodies } from "../facts.js";
import kinds from "./content/kinds.json" with { type: "json" };
import { english } from "./language.js";
import type { Step } from "./step.js";

/** Kinds of two words; others are the resource without its plural. */
const KINDS: Readonly<Record<string, string>> = kinds;

/**
 * What a message carries: `Pod web ADDED`, `StartContainer`, `Binding web → node-1`; empty for what is no message.
 * @param node the node that the step's pod gets
 */
export function messageName(step: Step, node?: string): string {
  const { event } = step;
  switch (event.kind) {
    case "watch":
      return `${kindOf(event.resource)} ${lastOf(event.object)} ${event.type}`;
    case "rpc":
      return event.method;
    case "request":
      return requestName(event.method, event.path, step.bodies, node);
    case "state":
      return stateName(english(event.what), event.subject);
    default:
      return proxiedTo(event) ?? "";
  }
}

/** `Pod web`, `delete Pod web`: of a stored object; else the subject */
function stateName(what: string, subject: string): string {
  const [resource = "", object] = subject.split(" ");
  if (object === undefined || !/^(?:stored|deleted)$/.test(what)) return subject;
  return `${what === "deleted" ? "delete " : ""}${kindOf(resource)} ${lastOf(object)}`;
}

/** The request that the API server passes on to a kubelet: `POST /exec/default/web/app`; undefined for another fact. */
function proxiedTo(event: TraceEvent): string | undefined {
  if (event.kind !== "decision" || event.upstream?.file.endsWith("pod/rest/subresources.go") !== true) return undefined;
  const [, method, path] = /(GET|POST) https?:\/\/[^/\s]+([^?\s]+)/.exec(event.what) ?? [];
  return method === undefined ? undefined : `${method} ${path}`;
}

const RESOURCE_PATH =
  /^\/(?:api|apis\/[^/]+)\/v[^/]+(?:\/namespaces\/[^/?]+(?=\/))?\/([^/?]+)(?:\/([^/?]+))?(?:\/([^?]+))?(\?.*)?$/;
const VERBS: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };

interface Body {
  readonly metadata?: { readonly name?: unknown };
}

function requestName(method: string, path: string, bodies: string | undefined, node: string | undefined): string {
  const [, resource, name, sub, query = ""] = RESOURCE_PATH.exec(path) ?? [];
  if (resource === undefined) return `${method} ${path.replace(/\?.*/, "")}`;
  const sent = Object(parseBodies(bodies).requestBody) as Body;
  if (sub === "binding") return ["Binding", name, ...(node === undefined ? [] : ["→", node])].join(" ");
  const verb = VERBS[method] ?? (/[?&]watch=(?:1|true)/.test(query) ? "watch" : name === undefined ? "list" : "get");
  // A new object's name is only in its body.
  const of = name ?? (method === "POST" ? sent.metadata?.name : undefined);
  return [verb, of === undefined && method === "GET" ? listOf(resource) : kindOf(resource), of, sub]
    .filter(Boolean)
    .join(" ");
}

/** `pods`, `CSRs` */
function listOf(resource: string): string {
  const kind = KINDS[resource];
  return kind === undefined ? resource : `${kind.replace(/s$/, "")}s`;
}

/** `Pod` for `pods` */
export function kindOf(resource: string): string {
  const [plural = ""] = resource.split(".", 1);
  return KINDS[plural] ?? `${plural.charAt(0).toUpperCase()}${plural.slice(1).replace(/s$/, "")}`;
}

function lastOf(object: string): string {
  return object.slice(object.lastIndexOf("/") + 1);
}
