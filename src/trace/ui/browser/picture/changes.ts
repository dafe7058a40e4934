import type { TraceEvent } from "../../../events.js";
import { parseBodies } from "../../facts.js";
import { english } from "../language.js";
import { isRelist } from "../words.js";

/** The change that one fact reports about one part of the cluster. Undefined: not reported. */
export type ClusterChange =
  | { readonly part: "object"; readonly resource: string; readonly name: string; readonly change: ObjectChange }
  | { readonly part: "node"; readonly node: string; readonly ready?: string; readonly renewTime?: string }
  | {
      readonly part: "pod";
      readonly pod: string;
      readonly node?: string;
      readonly phase?: string;
      readonly worker?: string;
      readonly warning?: string;
      /** marked for deletion */
      readonly isMarked?: boolean;
    }
  | ({ readonly part: "sandbox"; readonly pod: string } & Transition)
  | ({ readonly part: "container"; readonly pod: string; readonly container: string } & Transition)
  | {
      readonly part: "probe";
      readonly pod: string;
      readonly container: string;
      readonly probe: string;
      readonly result: string;
    };

/** A sandbox or a container went from one state to another. */
export interface Transition {
  /** undefined: not reported */
  readonly from: string | undefined;
  readonly to: string;
  readonly source: Source;
}

/** `seen`: a watch reported the object, so that it exists. */
export type ObjectChange = "created" | "changed" | "deleted" | "seen";
/** The source: the runtime itself, or PLEG's last relist. */
export type Source = "runtime" | "pleg";

/** The message of the scheduler's Event. */
const SCHEDULED = /^Successfully assigned \S+ to (\S+)$/;

/**
 * The changes that a fact reports about the cluster. States come only from the components that report them.
 * @param bodies JSON of what a request sent and got
 */
export function changesOf(event: TraceEvent, bodies?: string): readonly ClusterChange[] {
  switch (event.kind) {
    case "request":
      return bodies === undefined
        ? []
        : [...nodeNameOf(event, bodies), ...renewalOf(event, bodies), ...phaseOf(event, bodies)];
    case "state":
      return stateChanges(event);
    case "watch":
      return [
        {
          part: "object",
          resource: event.resource,
          name: event.object,
          change: event.type === "DELETED" ? "deleted" : "seen",
        },
      ];
    case "event":
      return eventChanges(event);
    case "table":
      return isRelist(event) ? event.rows.flatMap(plegChange) : [];
    default:
      return [];
  }
}

interface PodBody {
  readonly metadata?: { readonly name?: unknown };
  readonly spec?: { readonly nodeName?: unknown };
  readonly target?: { readonly name?: unknown };
}

/** A pod that a client creates for a node, or a Binding. Bodies are long, so only those that name a node are parsed. */
function nodeNameOf({ method, path }: FactOf<"request">, bodies: string): ClusterChange[] {
  const [, namespace, pod] = /\/namespaces\/([^/]+)\/pods(?:\/([^/]+)\/binding)?$/.exec(path) ?? [];
  if (method !== "POST" || namespace === undefined || !/"(?:nodeName|target)"/.test(bodies)) return [];
  const body = Object(parseBodies(bodies).requestBody) as PodBody;
  const [name, node] = [pod ?? body.metadata?.name, body.target?.name ?? body.spec?.nodeName];
  return typeof name === "string" && typeof node === "string"
    ? [{ part: "pod", pod: `${namespace}/${name}`, node }]
    : [];
}

/** An answered renewal, the first one included: the kubelet reports it only after the answer. */
function renewalOf({ method, path, status }: FactOf<"request">, bodies: string): ClusterChange[] {
  const isWritten = (method === "PUT" && status === 200) || (method === "POST" && status === 201);
  const found = isWritten ? /\/kube-node-lease\/leases(?:\/([^/?]+))?(?:\?|$)/.exec(path) : null;
  if (found === null) return [];
  // A new Lease has its name only in the body.
  const node = found[1] ?? /"holderIdentity":"([^"]+)"/.exec(bodies)?.[1];
  const renewTime = /"renewTime":"([^"]+)"/.exec(bodies)?.[1];
  return node !== undefined && renewTime !== undefined ? [{ part: "node", node, renewTime }] : [];
}

/** A written status: only a whole kubelet reports its pods' phases too. */
function phaseOf({ method, path, status }: FactOf<"request">, bodies: string): ClusterChange[] {
  const [, namespace, name] = /\/namespaces\/([^/]+)\/pods\/([^/]+)\/status(?:\?|$)/.exec(path) ?? [];
  const phase = /"phase":"(\w+)"/.exec(bodies)?.[1];
  const isWritten = method !== "GET" && status === 200 && name !== undefined && phase !== undefined;
  return isWritten ? [{ part: "pod", pod: `${namespace}/${name}`, phase }] : [];
}

type FactOf<Kind> = Extract<TraceEvent, { readonly kind: Kind }>;

function stateChanges(event: FactOf<"state">): ClusterChange[] {
  const { actor, pod } = event;
  const [subject, what, to] = [event.subject, event.what, event.to].map(english) as [string, string, string];
  const from = event.from && english(event.from);
  if (actor === "apiserver" && (what === "stored" || what === "deleted")) {
    const [resource = "", name = ""] = split(subject, " ");
    return [{ part: "object", resource, name, change: what === "deleted" ? what : from ? "changed" : "created" }];
  }
  if (actor === "runtime" && pod !== undefined) {
    if (what === "sandbox") return [{ part: "sandbox", pod, from, to, source: "runtime" }];
    if (what !== "container") return [];
    return [{ part: "container", pod, container: subject.slice(pod.length + 1), from, to, source: "runtime" }];
  }
  const [first, name] = split(subject, " ");
  const kind = first === "Lease" ? first : first.toLowerCase();
  if (kind === "pod" && what === "phase") return [{ part: "pod", pod: name, phase: to }];
  if (kind === "pod" && what === "deletionTimestamp") return [{ part: "pod", pod: name, isMarked: true }];
  if (kind === "pod" && what === "worker") return [{ part: "pod", pod: name, worker: to }];
  if (kind === "Lease" && what === "renewTime") {
    return [{ part: "node", node: name, renewTime: split(to, " ")[0] }];
  }
  if (kind === "node" && what === "Ready") return [{ part: "node", node: name, ready: to }];
  return what.endsWith(" probe") ? probeChanges(subject, what, to) : [];
}

/** `container app of default/web`, `readiness probe` */
function probeChanges(subject: string, what: string, result: string): ClusterChange[] {
  const [, container, pod] = /^container (\S+) of (\S+)$/.exec(subject) ?? [];
  if (container === undefined || pod === undefined) return [];
  return [{ part: "probe", pod, container, probe: split(what, " ")[0], result }];
}

function eventChanges({ type, reason, message, object, pod }: FactOf<"event">): ClusterChange[] {
  const [kind, name] = split(object, "/");
  if (kind !== "Pod") return [];
  // A recorder names the pod with its namespace or without.
  const of = pod ?? (name.includes("/") ? name : undefined);
  if (of === undefined) return [];
  const [, node] = (reason === "Scheduled" && SCHEDULED.exec(message)) || [];
  if (node !== undefined) return [{ part: "pod", pod: of, node }];
  return type === "Warning" ? [{ part: "pod", pod: of, warning: reason }] : [];
}

/** A row of a relist: `default/web`, `app 0123456789`, changes since the last relist. PLEG treats a sandbox as a container. */
function plegChange([pod = "", what = "", from = "", to = ""]: readonly string[]): ClusterChange[] {
  const [name] = split(what, " ");
  if (pod === "" || name === "") return [];
  if (name === "sandbox") return [{ part: "sandbox", pod, from, to, source: "pleg" }];
  return [{ part: "container", pod, container: name, from, to, source: "pleg" }];
}

/** At the first separator. */
function split(text: string, separator: string): [before: string, after: string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}
