import { english } from "../language.js";
import type { Step } from "../step.js";
import { changesOf } from "./changes.js";

/** Something in the picture that can be chosen. */
export interface Thing {
  readonly kind:
    | "user"
    | "apiserver"
    | "storage"
    | "controller"
    | "scheduler"
    | "dns"
    | "kubelet"
    | "proxy"
    | "runtime"
    | "node"
    | "service"
    | "pod"
    | "container";
  /** the node's, the service's or the pod's (`default/web`) or the container's (`default/web/app`); empty if there is only one */
  readonly name: string;
}

/** Identifies a thing; that of an actor is the key of its lane. */
export function keyOf({ kind, name }: Thing): string {
  return name === "" ? kind : `${kind} ${name}`;
}

/** `container app of default/web` */
export function thingWords({ kind, name }: Thing): string {
  switch (kind) {
    case "apiserver":
      return "API server";
    case "controller":
      return "controllers";
    case "proxy":
      return name === "" ? "kube-proxy" : `kube-proxy ${name}`;
    case "container": {
      const at = name.lastIndexOf("/");
      return `container ${name.slice(at + 1)} of ${name.slice(0, at)}`;
    }
    default:
      return name === "" ? (kind === "node" ? "this node" : kind) : `${kind} ${name}`;
  }
}

/** Whether a step concerns the thing. */
export function concerns(step: Step, thing: Thing): boolean {
  const { event, lane, target } = step;
  const { kind, name } = thing;
  switch (kind) {
    case "storage":
      return isWrite(step);
    case "node":
      return (
        nodeOf(lane) === name ||
        nodeOf(target) === name ||
        changesOf(event).some(
          (change) =>
            (change.part === "node" && change.node === name) ||
            (change.part === "object" && change.resource === "nodes" && change.name === name),
        )
      );
    case "service":
      return changesOf(event).some((change) => change.part === "object" && isOfService(change, name));
    case "pod":
      return (
        event.pod === name ||
        changesOf(event).some((change) =>
          change.part === "object"
            ? change.resource === "pods" && change.name === name
            : "pod" in change && change.pod === name,
        )
      );
    case "container":
      return (
        changesOf(event).some((change) => "container" in change && `${change.pod}/${change.container}` === name) ||
        namesContainer(step, name)
      );
    default:
      return lane.key === keyOf(thing) || target?.key === keyOf(thing);
  }
}

/** Whether the API server reported that it stored or deleted an object. */
export function isWrite({ event }: Step): boolean {
  return (
    event.actor === "apiserver" &&
    event.kind === "state" &&
    /^(?:stored|deleted|deletionTimestamp)$/.test(english(event.what))
  );
}

/** Slices of endpoints have the name of their Service and a suffix. */
function isOfService({ resource, name }: { readonly resource: string; readonly name: string }, of: string): boolean {
  if (resource === "endpointslices") return name.slice(0, name.lastIndexOf("-")) === of;
  return (resource === "services" || resource === "endpoints") && name === of;
}

function nodeOf(lane: Step["target"]): string | undefined {
  return lane !== undefined && (lane.actor === "kubelet" || lane.actor === "runtime" || lane.actor === "proxy")
    ? (lane.instance ?? "")
    : undefined;
}

/** Decisions and Events name a container of their pod in their text. */
function namesContainer({ event }: Step, name: string): boolean {
  if (event.pod === undefined || !name.startsWith(`${event.pod}/`)) return false;
  const container = name.slice(event.pod.length + 1);
  const text = event.kind === "decision" ? event.what : event.kind === "event" ? event.message : "";
  return text.split(/[\s,()]+/).includes(container);
}
