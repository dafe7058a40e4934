import { parseBodies } from "../../facts.js";
import { english } from "../language.js";
import type { Step } from "../step.js";
import { isBad, outcomeOf } from "../words.js";
import { isWrite, keyOf } from "./things.js";

/** A message from one part of the cluster to another. */
export interface Message {
  /** keys of things */
  readonly from: string;
  readonly to: string;
  readonly kind: "request" | "watch" | "rpc" | "write";
  readonly isBad: boolean;
}

const STORAGE = keyOf({ kind: "storage", name: "" });

/** The message that a step sent; undefined if the step happened inside one part. */
export function messageOf(step: Step): Message | undefined {
  const { event, lane, target } = step;
  if (isWrite(step)) return { from: lane.key, to: STORAGE, kind: "write", isBad: false };
  if (target === undefined || target === lane) return undefined;
  switch (event.kind) {
    case "watch":
      return { from: target.key, to: lane.key, kind: "watch", isBad: false };
    case "request":
    case "rpc":
      return { from: lane.key, to: target.key, kind: event.kind, isBad: isBad(event) };
    default:
      return undefined;
  }
}

/**
 * What the message carries: `Pod web ADDED`, `StartContainer`, `Binding web → node-1`.
 * @param nodeOf the node that a pod gets
 */
export function messageName(step: Step, nodeOf: (pod: string) => string | undefined): string {
  const { event } = step;
  switch (event.kind) {
    case "watch":
      return `${kindOf(event.resource)} ${lastOf(event.object)} ${event.type}`;
    case "rpc":
      return event.method;
    case "request":
      return requestName(event.method, event.path, step.bodies, nodeOf(event.pod ?? ""));
    case "state":
      return english(event.what) === "deleted" ? `delete ${event.subject}` : event.subject;
    default:
      return "";
  }
}

/** The answer to a request or a call: `201`, `OK`; undefined for messages without one. */
export function answerOf({ event }: Step): string | undefined {
  return event.kind === "request" || event.kind === "rpc" ? outcomeOf(event) : undefined;
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
  return [verb, of === undefined && method === "GET" ? resource : kindOf(resource), of, sub].filter(Boolean).join(" ");
}

/** Kinds of two words; others are the resource without its plural. */
const KINDS: Readonly<Record<string, string>> = {
  certificatesigningrequests: "CSR",
  configmaps: "ConfigMap",
  cronjobs: "CronJob",
  daemonsets: "DaemonSet",
  endpoints: "Endpoints",
  endpointslices: "EndpointSlice",
  replicasets: "ReplicaSet",
  serviceaccounts: "ServiceAccount",
  statefulsets: "StatefulSet",
};

/** `Pod` for `pods` */
export function kindOf(resource: string): string {
  const [head, group] = [resource.split(".", 1)[0] ?? "", resource];
  return KINDS[head] ?? `${group.charAt(0).toUpperCase()}${head.slice(1).replace(/s$/, "")}`;
}

function lastOf(object: string): string {
  return object.slice(object.lastIndexOf("/") + 1);
}
