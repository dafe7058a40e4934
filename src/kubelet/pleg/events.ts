import { assertNever } from "../../util/errors.js";
import { type Container, type ContainerState, findContainer, type Pod } from "../container/runtime.js";

/** Mirrors PodLifeCycleEventType in pkg/kubelet/pleg/pleg.go; `PodSync` is not used any more. */
export type PodLifecycleEventType = "ContainerStarted" | "ContainerDied" | "ContainerRemoved" | "ContainerChanged";

/** Something happened to a container (or sandbox) of a pod: the pod's worker must look. */
export interface PodLifecycleEvent {
  readonly podUid: string;
  readonly type: PodLifecycleEventType;
  /** may be a sandbox's */
  readonly containerId: string;
}

/** Mirrors plegContainerState: `created` counts as `unknown`, as the kubelet has no use for it. */
export type PlegContainerState = "running" | "exited" | "unknown" | "non-existent";

/** One container between two relists, with what is to be told about it. */
export interface ContainerChange {
  readonly containerId: string;
  readonly name: string | undefined;
  readonly isSandbox: boolean;
  readonly before: PlegContainerState;
  readonly after: PlegContainerState;
  readonly events: readonly PodLifecycleEvent[];
}

const NO_CHANGE: readonly ContainerChange[] = [];

/**
 * What happened to a pod between two relists: containers first, then sandboxes, those known before first. Pure.
 * Mirrors getContainersFromPods and computeEvents in pkg/kubelet/pleg/generic.go.
 */
export function computeEvents(before: Pod | undefined, after: Pod | undefined): readonly ContainerChange[] {
  // Nearly always nothing has happened, and the runtime lists in the same order as before.
  if (
    before !== undefined &&
    after !== undefined &&
    sameStates(before.containers, after.containers) &&
    sameStates(before.sandboxes, after.sandboxes)
  ) {
    return NO_CHANGE;
  }
  const podUid = before?.podUid ?? after?.podUid ?? "";
  const changes: ContainerChange[] = [];
  const seen = new Set<string>();
  const compare = (containers: readonly Container[] | undefined, isSandbox: boolean) => {
    for (const { containerId, name } of containers ?? []) {
      if (seen.has(containerId)) continue;
      seen.add(containerId);
      const states = { before: stateOf(before, containerId), after: stateOf(after, containerId) };
      const events = generateEvents({ podUid, containerId }, states.before, states.after);
      if (events.length > 0) changes.push({ containerId, name, isSandbox, ...states, events });
    }
  };
  for (const pod of [before, after]) {
    compare(pod?.containers, false);
    compare(pod?.sandboxes, true);
  }
  return changes;
}

function sameStates(before: readonly Container[], after: readonly Container[]): boolean {
  if (before.length !== after.length) return false;
  for (let i = 0; i < before.length; i++) {
    const one = before[i];
    const other = after[i];
    if (one?.containerId !== other?.containerId || one?.state !== other?.state) return false;
  }
  return true;
}

/** Mirrors getContainerState: containers are searched before sandboxes. */
function stateOf(pod: Pod | undefined, containerId: string): PlegContainerState {
  if (pod === undefined) return "non-existent";
  const found = findContainer(pod.containers, containerId) ?? findContainer(pod.sandboxes, containerId);
  return found === undefined ? "non-existent" : convertState(found.state);
}

/** Mirrors convertState. */
export function convertState(state: ContainerState): PlegContainerState {
  return state === "created" ? "unknown" : state;
}

/** Mirrors generateEvents in pkg/kubelet/pleg/generic.go. Pure. Events come in the order a pod worker must see them. */
export function generateEvents(
  ref: { readonly podUid: string; readonly containerId: string },
  before: PlegContainerState,
  after: PlegContainerState,
): readonly PodLifecycleEvent[] {
  if (before === after) return [];
  const event = (type: PodLifecycleEventType): PodLifecycleEvent => ({ type, ...ref });
  switch (after) {
    case "running":
      return [event("ContainerStarted")];
    case "exited":
      return [event("ContainerDied")];
    case "unknown":
      return [event("ContainerChanged")];
    case "non-existent":
      // Gone without having been seen dead: it died between two relists, and nobody has reported that death yet.
      return before === "exited" ? [event("ContainerRemoved")] : [event("ContainerDied"), event("ContainerRemoved")];
    default:
      return assertNever(after);
  }
}

/** Is this event sent at all? `ContainerChanged` makes the pod be inspected, but nobody reads it. */
export function isSent(event: PodLifecycleEvent): boolean {
  return event.type !== "ContainerChanged";
}

/** Why a change gives the events it gives, in words. */
export function reasonOf({ before, after, isSandbox }: ContainerChange): string {
  const what = isSandbox ? "sandbox" : "container";
  switch (after) {
    case "running":
      if (before === "non-existent") return `a ${what} that the last relist did not see is running`;
      return `the ${what} was ${before} at the last relist and is running now`;
    case "exited":
      if (before === "non-existent") return `a ${what} that the last relist did not see has exited already`;
      return isSandbox
        ? `the sandbox was ${wordFor(before)} at the last relist and is not any more`
        : `the container was ${before} at the last relist and has exited since`;
    case "unknown":
      return `the ${what} was ${before} and is created or unknown now: the pod is inspected, but nobody is told`;
    case "non-existent":
      return before === "exited"
        ? `the ${what} is gone from the list; its death has been told before`
        : `the ${what} was ${before} and is gone from the list: it must have died in between, so both are told`;
    default:
      return assertNever(after);
  }
}

function wordFor(state: PlegContainerState): string {
  return state === "running" ? "ready" : state;
}
