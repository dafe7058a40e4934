import type { ContainerEventResponse } from "../../cri/messages/container-calls.js";
import { ContainerEventType } from "../../cri/messages/enums.js";
import { constantsFor, factFor } from "../../release/facts.js";
import type { Trace } from "../../trace/trace.js";
import type { AsyncQueue } from "../../util/async-queue.js";
import type { Clock } from "../../util/clock.js";
import { isAbortError, isOwnBug, messageOf } from "../../util/errors.js";
import type { PodCache } from "../container/cache.js";
import type { PodStatus } from "../container/runtime.js";
import { toMs } from "../kuberuntime/convert.js";
import type { PodLifecycleEvent, PodLifecycleEventType } from "./events.js";
import type { GenericPleg } from "./generic.js";
import type { PlegHealth, RelistDuration } from "./health.js";
import { keepPodIps } from "./inspect.js";
import { exitText } from "./narrate.js";

export interface EventedPlegDeps {
  /** the runtime's stream of events */
  readonly service: { getContainerEvents(signal: AbortSignal): AsyncIterable<ContainerEventResponse> };
  readonly runtime: { generatePodStatus(event: ContainerEventResponse): Promise<PodStatus | undefined> };
  /** made with isEvented */
  readonly cache: PodCache;
  readonly events: AsyncQueue<PodLifecycleEvent>;
  /** relists seldom while events flow, and as usual when they do not */
  readonly generic: GenericPleg;
  readonly clock: Clock;
  readonly trace: Trace;
}

export interface EventedPlegOptions {
  readonly kubeVersion: string;
  /** what the generic PLEG gets when the stream cannot be had */
  readonly fallback: RelistDuration;
}

/** What the stream has brought, and what happened to it. */
export interface EventedCounts {
  readonly received: number;
  readonly sent: number;
  readonly discarded: number;
  readonly streamFailures: number;
}

const EVENTED = "pkg/kubelet/pleg/evented.go";

/**
 * Takes container events from the runtime in place of finding them by listing.
 *
 * Each event carries the pod's whole status, so nothing is asked; relisting goes on, but every five minutes only. Five
 * failures of the stream, and the generic PLEG takes over for good.
 *
 * Mirrors pkg/kubelet/pleg/evented.go (EventedPLEG) as of v1.26: v1.25 has none.
 */
export class EventedPleg {
  #counts = { received: 0, sent: 0, discarded: 0, streamFailures: 0 };
  #isInUse = false;
  #hasFallenBack = false;

  constructor(
    readonly deps: EventedPlegDeps,
    readonly options: EventedPlegOptions,
  ) {}

  /** False before the start and after the fall-back. Mirrors isEventedPLEGInUse. */
  get isInUse(): boolean {
    return this.#isInUse;
  }

  /** The generic PLEG has taken over. */
  get hasFallenBack(): boolean {
    return this.#hasFallenBack;
  }

  get counts(): EventedCounts {
    return { ...this.#counts };
  }

  /** Unhealthy only when nobody reads the events. Mirrors Healthy. */
  healthy(): PlegHealth {
    const { size, capacity } = this.deps.events;
    if (size < capacity) return { healthy: true };
    const message = `EventedPLEG: pleg event channel capacity is full with ${size} events`;
    return { healthy: false, message, cause: "the kubelet's own: nobody reads the events" };
  }

  /**
   * Reads events until the stream has failed too often, then hands over to the generic PLEG and ends.
   * Mirrors Start, watchEventsChannel, updateGlobalCache.
   * @throws the signal's reason
   */
  async run(signal: AbortSignal): Promise<void> {
    this.#isInUse = true;
    const over = new AbortController();
    const updates = this.#updateGlobalCache(AbortSignal.any([signal, over.signal]));
    try {
      await this.#watchEvents(signal);
      this.#fallBack();
    } finally {
      this.#isInUse = false;
      over.abort();
      await updates;
    }
  }

  async #watchEvents(signal: AbortSignal): Promise<void> {
    const { service, trace, generic } = this.deps;
    const maxAttempts = factFor("eventedPlegMaxStreamRetries", this.options.kubeVersion);
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      let why = "the runtime ended the stream";
      try {
        for await (const event of service.getContainerEvents(signal)) await this.#process(event);
      } catch (error) {
        if (signal.aborted || isOwnBug(error)) throw error;
        why = messageOf(error);
      }
      signal.throwIfAborted();
      this.#counts.streamFailures++;
      const message = `the stream of container events broke (${attempt} of ${maxAttempts} times): ${why}`;
      const hint = "A relist now finds what may have been missed.";
      trace.emit({ kind: "error", message, hint }, { actor: "kubelet", level: 1 });
      await generic.relist(signal);
    }
  }

  #fallBack(): void {
    const { generic, trace } = this.deps;
    const { kubeVersion, fallback } = this.options;
    generic.update(fallback);
    this.#hasFallenBack = true;
    trace.emit(
      {
        kind: "decision",
        what: `fall back to the generic PLEG: a relist every ${fallback.relistPeriodMs / 1000} s`,
        why: "the stream of container events failed as often as it may, and it is not tried again",
        constants: constantsFor(kubeVersion, "eventedPlegMaxStreamRetries", "plegRelistPeriod"),
        upstream: { file: EVENTED, func: "watchEventsChannel" },
      },
      { actor: "kubelet" },
    );
  }

  /** Releases pod workers that wait for news of a pod which no event will ever come for. */
  async #updateGlobalCache(signal: AbortSignal): Promise<void> {
    const { cache, clock } = this.deps;
    const periodMs = factFor("globalCacheUpdatePeriod", this.options.kubeVersion);
    try {
      for (;;) {
        cache.updateTime(clock.now());
        await clock.sleep(periodMs, signal);
      }
    } catch (error) {
      if (!signal.aborted && !isAbortError(error)) throw error;
    }
  }

  /** Mirrors processCRIEvents. */
  async #process(event: ContainerEventResponse): Promise<void> {
    const { runtime, cache, trace } = this.deps;
    this.#counts.received++;
    const status = await runtime.generatePodStatus(event);
    if (status === undefined) {
      // Its sandbox was removed before the event was made. A relist will find out.
      const message = `an event of container ${event.containerId} does not say of which pod: ignored`;
      trace.emit({ kind: "error", message }, { actor: "kubelet", level: 1 });
      return;
    }
    const { podUid } = status;
    const kept = { ...status, ips: keepPodIps(cache, status) };
    if (event.containerEventType === ContainerEventType.CONTAINER_DELETED_EVENT) {
      if (status.sandboxStatuses.some(({ sandboxId }) => sandboxId === event.containerId)) cache.delete(podUid);
    } else if (!cache.set(podUid, kept, undefined, toMs(event.createdAt))) {
      this.#tell(event, status, [], "the cache has a newer status than this event brings: it is not told");
      return;
    }
    const types = lifecycleTypes(event.containerEventType);
    for (const type of types) this.#send({ podUid, type, containerId: event.containerId });
    this.#tell(event, status, types, reasonOf(event.containerEventType));
  }

  #send(event: PodLifecycleEvent): void {
    if (this.deps.events.push(event)) {
      this.#counts.sent++;
      return;
    }
    this.#counts.discarded++;
    const message = `the event channel is full (${this.deps.events.capacity}): ${event.type} ${event.containerId} is discarded`;
    this.deps.trace.emit({ kind: "error", message }, { actor: "kubelet" });
  }

  #tell(event: ContainerEventResponse, pod: PodStatus, types: readonly string[], why: string): void {
    const name = `${pod.namespace}/${pod.name}`;
    const container = pod.containerStatuses.find(({ containerId }) => containerId === event.containerId);
    const isSandbox = pod.sandboxStatuses.some(({ sandboxId }) => sandboxId === event.containerId);
    // A removed container is not in the status any more, and with it its name.
    const label = `${container?.name ?? (isSandbox ? "sandbox" : "container")} ${event.containerId.slice(0, 10)}`;
    const what = `${types.join(" and ") || nameOf(event.containerEventType)} ${name} ${label}`;
    const exit = types.includes("ContainerDied") ? exitText(pod, event.containerId) : "";
    this.deps.trace.emit(
      { kind: "decision", what, why: `${why}${exit}`, upstream: { file: EVENTED, func: "processCRIEvent" } },
      { actor: "kubelet" },
    );
  }
}

/** What pod workers are told of an event of the runtime. Mirrors processCRIEvent. */
function lifecycleTypes(type: number): readonly PodLifecycleEventType[] {
  switch (type) {
    case ContainerEventType.CONTAINER_STARTED_EVENT:
      return ["ContainerStarted"];
    case ContainerEventType.CONTAINER_STOPPED_EVENT:
      return ["ContainerDied"];
    case ContainerEventType.CONTAINER_DELETED_EVENT:
      return ["ContainerDied", "ContainerRemoved"];
    default:
      // Created: the cache has it, and nobody waits for it. The same for types that we do not know.
      return [];
  }
}

function nameOf(type: number): string {
  return Object.entries(ContainerEventType).find(([, value]) => value === type)?.[0] ?? `event ${type}`;
}

function reasonOf(type: number): string {
  switch (type) {
    case ContainerEventType.CONTAINER_STARTED_EVENT:
      return "the runtime sent CONTAINER_STARTED_EVENT with the pod's status: no relist, no inspection";
    case ContainerEventType.CONTAINER_STOPPED_EVENT:
      return "the runtime sent CONTAINER_STOPPED_EVENT with the pod's status: no relist, no inspection";
    case ContainerEventType.CONTAINER_DELETED_EVENT:
      return "the runtime sent CONTAINER_DELETED_EVENT; that it died is told once more, in case nobody heard of it";
    default:
      return "the cache has the new status; pod workers are told of starts, deaths and removals only";
  }
}
