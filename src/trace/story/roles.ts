import type { Actor, TraceEvent } from "../events.js";
import { LIFECYCLE } from "./reasons.js";

/** The most steps of one story: it cannot grow for days. */
export const MAX_STEPS = 200;

/** `step`: told; `link`: told if a told step follows from it */
export type Role = "step" | "link" | undefined;

/** Calls that only read. */
const LOOKING = /^(?:List|Version$|Status$|ImageStatus$|.*Status$|.*Stats$)/;
/** Requests that are no events of an object's life: Events, heartbeats, credentials, questions about rights. */
const TRANSPORT = /\/events(?:\/|\?|$)|\/kube-node-lease\/|\/serviceaccounts\/[^/]+\/token|reviews(?:\?|$)/;
const DECIDERS: ReadonlySet<Actor> = new Set(["controller", "scheduler"]);
/** What the kubelet decides about a pod, and not on the way to another decision. */
const DECIDED = new Set(["computePodActions", "canAdmitPod", "HandlePodAdditions", "killPod", "doBackOff"]);
/** The kubelet's functions that are told by what they do. */
const FRAMES = new Set(["SyncPod", "relist", "Run", "InitializeTLS"]);

/**
 * What an object's life consists of: writes, stored versions, decisions, calls to the runtime and what they did. Reads, the API
 * server's own stages, Events and the kubelet's notes would hide it; a watch event or a written status counts if something follows from it.
 */
export function roleInLife(event: TraceEvent): Role {
  switch (event.kind) {
    case "request":
      if (event.method === "GET" || TRANSPORT.test(event.path)) return undefined;
      // A controller's decision says what its request does.
      if (event.actor === "controller") return undefined;
      return /\/status(?:\?|$)/.test(event.path) ? "link" : "step";
    case "rpc":
      return LOOKING.test(event.method) ? undefined : "step";
    case "decision":
      return roleOfDecision(event);
    case "state":
      return roleOfState(event);
    case "watch":
      return event.resource === "events" ? undefined : "link";
    case "step":
      // A sync that changes nothing is no step.
      if (event.upstream?.func === "syncPod") return "link";
      return event.level <= 3 && !FRAMES.has(event.upstream?.func ?? "") ? "step" : undefined;
    case "event":
      return event.type === "Warning" ? "step" : undefined;
    case "error":
      return event.level <= 1 ? "step" : undefined;
    default:
      return undefined;
  }
}

function roleOfDecision({ actor, auditId, what, upstream }: TraceEvent & { kind: "decision" }): Role {
  if (auditId !== undefined) return undefined;
  if (what.startsWith("start the controller ")) return undefined;
  if (DECIDERS.has(actor)) return what.startsWith("write the status of ") ? "link" : "step";
  // A sandbox has no story beside that of its containers.
  if (LIFECYCLE.test(what)) return /^\S+ \S+ sandbox /.test(what) ? "link" : "step";
  return DECIDED.has(upstream?.func ?? "") && !what.startsWith("leave ") ? "step" : undefined;
}

function roleOfState({ actor, subject, what, from, to, version }: TraceEvent & { kind: "state" }): Role {
  if (actor === "runtime") return what === "image" || to === "created" ? "link" : "step";
  // A written status that nothing follows from is no step, and neither is what the API server stores of it.
  if (actor === "apiserver" && version !== undefined) return /^(?:events|leases) /.test(subject) ? undefined : "link";
  if (actor !== "kubelet") return "step";
  if (what === "phase") return from === undefined ? undefined : "step";
  return /^volumes? /.test(subject) ? "step" : undefined;
}

/** The level of a key of a window: terminals show what it did, not the key. */
export const KEY_LEVEL = 3;

/**
 * Whether a fact says more about its cause: a call has its name from what it changed, a step its reason from what was decided in it, and
 * a key from what it did.
 */
export function isEffect(event: TraceEvent, cause: TraceEvent): boolean {
  if (isKey(cause)) return event.kind === "note" && event.actor === "user";
  return event.kind === (cause.kind === "step" || cause.kind === "watch" ? "decision" : "state");
}

/** Whether a fact is a key of a window. */
export function isKey({ kind, actor, level }: TraceEvent): boolean {
  return kind === "step" && actor === "user" && level === KEY_LEVEL;
}
