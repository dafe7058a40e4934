import { assertNever } from "../../util/errors.js";
import { type Container, type ContainerState, findContainer, type Pod, sameStates } from "../container/runtime.js";

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
  if (before === after) return NO_CHANGE;
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

/** Why a change gives this event, in words. */
export function reasonOf({ before, after, isSandbox }: ContainerChange, type: PodLifecycleEventType): string {
  const what = isSandbox ? "sandbox" : "container";
  // A sandbox is ready or not; PLEG keeps it as if it were a container.
  const [was, now] = isSandbox ? [SANDBOX_WORDS[before], SANDBOX_WORDS[after]] : [before, after];
  switch (after) {
    case "running":
      if (before === "non-existent") return `a ${what} that the last relist did not see is ${now}`;
      return `the ${what} was ${was} at the last relist and is ${now} now`;
    case "exited":
      if (before === "non-existent") return `a ${what} that the last relist did not see is ${now} already`;
      return `the ${what} was ${was} at the last relist and is ${now} now`;
    case "unknown":
      return `the ${what} was ${was} and is created or unknown now: the pod is inspected, but nobody is told`;
    case "non-existent":
      if (type === "ContainerDied")
        return `the ${what} was ${was} and is gone from the list: it must have died in between`;
      return before === "exited"
        ? `the ${what} is gone from the list; its death has been told before`
        : `the ${what} is gone from the list, and its death is told just before this`;
    default:
      return assertNever(after);
  }
}

const SANDBOX_WORDS: Readonly<Record<PlegContainerState, string>> = {
  running: "ready",
  exited: "not ready",
  unknown: "unknown",
  "non-existent": "non-existent",
};
