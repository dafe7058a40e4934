import type { Scope } from "../../trace/scope.js";
import { assertNever } from "../../util/errors.js";
import { type Container, type ContainerState, type Pod, samePodStates } from "../container/runtime.js";

/** Mirrors PodLifeCycleEventType in pkg/kubelet/pleg/pleg.go; `PodSync` is not used any more. */
export type PodLifecycleEventType = "ContainerStarted" | "ContainerDied" | "ContainerRemoved" | "ContainerChanged";

/** Something happened to a container (or sandbox) of a pod: the pod's worker has to sync it. */
export interface PodLifecycleEvent {
  readonly podUid: string;
  readonly type: PodLifecycleEventType;
  /** may be a sandbox's */
  readonly containerId: string;
  /** why it was sent, if a trace keeps causes */
  readonly scope?: Scope;
}

/** Mirrors plegContainerState: `created` counts as `unknown`, as the kubelet has no use for it. */
export type PlegContainerState = "running" | "exited" | "unknown" | "non-existent";

/** One container in two consecutive lists, and the events that the difference makes. */
export interface ContainerChange {
  readonly containerId: string;
  readonly name: string | undefined;
  readonly isSandbox: boolean;
  readonly before: PlegContainerState;
  readonly after: PlegContainerState;
  readonly events: readonly PodLifecycleEvent[];
}

/**
 * Compares a pod in two consecutive lists: containers first, then sandboxes, those of the first list first. Pure.
 * Mirrors getContainersFromPods and computeEvents in pkg/kubelet/pleg/generic.go.
 */
export function computeEvents(
  before: Pod | undefined,
  after: Pod | undefined,
  eventsOf = generateEvents,
): readonly ContainerChange[] {
  // The usual case: nothing has happened, and the runtime lists in the same order as before.
  if (before !== undefined && after !== undefined && samePodStates(before, after)) return [];
  const podUid = before?.podUid ?? after?.podUid ?? "";
  const statesBefore = statesOf(before);
  const statesAfter = statesOf(after);
  const changes: ContainerChange[] = [];
  const seen = new Set<string>();
  const compare = (containers: readonly Container[] | undefined, isSandbox: boolean) => {
    for (const { containerId, name } of containers ?? []) {
      if (seen.has(containerId)) continue;
      seen.add(containerId);
      const states = {
        before: statesBefore.get(containerId) ?? "non-existent",
        after: statesAfter.get(containerId) ?? "non-existent",
      };
      const events = eventsOf({ podUid, containerId }, states.before, states.after);
      if (events.length > 0) changes.push({ containerId, name, isSandbox, ...states, events });
    }
  };
  for (const pod of [before, after]) {
    compare(pod?.containers, false);
    compare(pod?.sandboxes, true);
  }
  return changes;
}

/** The states by ID; of several with one ID, the first. Mirrors getContainerState: containers are searched before sandboxes. */
function statesOf(pod: Pod | undefined): ReadonlyMap<string, PlegContainerState> {
  const states = new Map<string, PlegContainerState>();
  for (const { containerId, state } of [...(pod?.containers ?? []), ...(pod?.sandboxes ?? [])]) {
    if (!states.has(containerId)) states.set(containerId, convertState(state));
  }
  return states;
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
      // Gone without having been seen dead: it died between two relists, and nothing has reported that death yet.
      return before === "exited" ? [event("ContainerRemoved")] : [event("ContainerDied"), event("ContainerRemoved")];
    default:
      return assertNever(after);
  }
}

/** `ContainerChanged` only makes PLEG inspect the pod: it is not sent. Mirrors the filter in Relist. */
export function isSent(event: PodLifecycleEvent): boolean {
  return event.type !== "ContainerChanged";
}

/** Does the sync loop sync the pod for this event? Mirrors isSyncPodWorthy in pkg/kubelet/kubelet.go. */
export function isSyncPodWorthy({ type }: PodLifecycleEvent): boolean {
  return type !== "ContainerRemoved";
}
