import type { ContainerEventResponse } from "../../staging/cri/messages/container-calls.js";
import { ContainerEventType } from "../../staging/cri/messages/enums.js";
import type { Trace } from "../../trace/trace.js";
import { constantsFor } from "../../util/release/facts.js";
import type { PodStatus } from "../container/runtime.js";
import type { PodLifecycleEventType } from "./events.js";
import type { RelistDuration } from "./health.js";
import { exitText } from "./relist-observer.js";

const EVENTED = "pkg/kubelet/pleg/evented.go";

/** Counts the runtime's events and words their facts. */
export class EventedObserver {
  readonly counts = { received: 0, sent: 0, discarded: 0, streamFailures: 0 };
  #hasTooManyPods = false;

  constructor(
    readonly trace: Trace,
    readonly kubeVersion: string,
    readonly channelCapacity: number,
  ) {}

  streamBroke(attempt: number, maxAttempts: number, why: string): void {
    this.counts.streamFailures++;
    const message = `the stream of container events broke (${attempt} of ${maxAttempts} times): ${why}`;
    const hint = "A relist now finds what may have been missed.";
    this.trace.emit({ kind: "error", message, hint }, { actor: "kubelet", level: 1 });
  }

  fellBack({ relistPeriodMs }: RelistDuration): void {
    const what = `fall back to the generic PLEG: a relist every ${relistPeriodMs / 1000} s`;
    const why = "the stream of container events has failed too often, and it is not tried again";
    const constants = constantsFor(this.kubeVersion, "eventedPlegMaxStreamRetries", "plegRelistPeriod");
    const upstream = { file: EVENTED, func: "watchEventsChannel" };
    this.trace.emit({ kind: "decision", what, why, constants, upstream }, { actor: "kubelet" });
  }

  unknownPod({ containerId }: ContainerEventResponse): void {
    this.counts.received++;
    const message = `an event of container ${containerId} does not name its pod: ignored`;
    this.trace.emit({ kind: "error", message }, { actor: "kubelet", level: 1 });
  }

  /** Reported once, because the next events are of other pods. */
  tooManyPods({ containerId }: ContainerEventResponse): void {
    this.counts.received++;
    if (this.#hasTooManyPods) return;
    this.#hasTooManyPods = true;
    const message = `the runtime's events have named too many pods: the event of container ${containerId} is ignored`;
    const hint = "So are later ones of pods that are not in the cache. Check the runtime's log.";
    this.trace.emit({ kind: "error", message, hint }, { actor: "kubelet" });
  }

  outdated(event: ContainerEventResponse, pod: PodStatus): void {
    const why = "the cache has a newer status than this event brings: no event is sent";
    this.#decided(event, pod, nameOf(event.containerEventType), why);
  }

  pushed(type: PodLifecycleEventType, containerId: string, isSent: boolean): void {
    if (isSent) this.counts.sent++;
    else {
      this.counts.discarded++;
      const message = `the event channel is full (${this.channelCapacity}): ${type} ${containerId} is discarded`;
      this.trace.emit({ kind: "error", message }, { actor: "kubelet" });
    }
  }

  /** @returns the id of the fact */
  processed(event: ContainerEventResponse, pod: PodStatus, types: readonly PodLifecycleEventType[]): string {
    const type = nameOf(event.containerEventType);
    const exit = types.includes("ContainerDied") ? exitText(pod, event.containerId) : "";
    return this.#decided(event, pod, types.join(" and ") || type, `${reasonOf(event.containerEventType, type)}${exit}`);
  }

  #decided({ containerId }: ContainerEventResponse, pod: PodStatus, what: string, why: string): string {
    this.counts.received++;
    const container = pod.containerStatuses.find((one) => one.containerId === containerId);
    const isSandbox = pod.sandboxStatuses.some(({ sandboxId }) => sandboxId === containerId);
    // The status has neither a removed container nor its name any more.
    const label = `${container?.name ?? (isSandbox ? "sandbox" : "container")} ${containerId.slice(0, 10)}`;
    const upstream = { file: EVENTED, func: "processCRIEvent" };
    const text = `${what} ${pod.namespace}/${pod.name} ${label}`;
    const fact = { kind: "decision", what: text, why, upstream } as const;
    const report = () => this.trace.emit(fact, { actor: "kubelet" });
    return this.trace.because({ pod: `${pod.namespace}/${pod.name}` }, report).id;
  }
}

function nameOf(type: number): string {
  return Object.entries(ContainerEventType).find(([, value]) => value === type)?.[0] ?? `event ${type}`;
}

function reasonOf(type: number, name: string): string {
  switch (type) {
    case ContainerEventType.CONTAINER_STARTED_EVENT:
    case ContainerEventType.CONTAINER_STOPPED_EVENT:
      return `the runtime sent ${name} with the pod's status: no relist, no inspection`;
    case ContainerEventType.CONTAINER_DELETED_EVENT:
      return `the runtime sent ${name}; the death is reported once more, in case it was missed`;
    default:
      return "the cache has the new status; only starts, deaths and removals are sent to pod workers";
  }
}
