import type { ContainerEventResponse } from "../../staging/cri/messages/container-calls.js";
import { ContainerEventType } from "../../staging/cri/messages/enums.js";
import type { Trace } from "../../trace/trace.js";
import type { AsyncQueue } from "../../util/async/async-queue.js";
import { allUntilOneEnds } from "../../util/async/concurrency.js";
import type { Clock } from "../../util/clock.js";
import { isOwnBug, messageOf } from "../../util/errors.js";
import { factFor } from "../../util/release/facts.js";
import type { PodCache } from "../container/cache.js";
import type { PodStatus } from "../container/runtime.js";
import { toMs } from "../kuberuntime/convert.js";
import { EventedObserver } from "./evented-observer.js";
import type { PodLifecycleEvent, PodLifecycleEventType } from "./events.js";
import { type GenericPleg, getPodIps } from "./generic.js";
import type { PlegHealth, RelistDuration } from "./health.js";

export interface EventedPlegDeps {
  /** the runtime's stream of events */
  readonly service: { getContainerEvents(signal: AbortSignal): AsyncIterable<ContainerEventResponse> };
  readonly runtime: { generatePodStatus(event: ContainerEventResponse): Promise<PodStatus | undefined> };
  /** made with isEvented */
  readonly cache: PodCache;
  readonly events: AsyncQueue<PodLifecycleEvent>;
  /** relists rarely while events arrive, and as usual when they do not */
  readonly generic: GenericPleg;
  readonly clock: Clock;
  readonly trace: Trace;
  /** as for the generic PLEG */
  readonly causeOf?: (containerId: string) => string | undefined;
}

export interface EventedPlegOptions {
  readonly kubeVersion: string;
  /** for the generic PLEG when the stream has failed too often */
  readonly fallback: RelistDuration;
}

/** A relist has a bound, the stream has none: each event can name another pod. A node has 110 pods by default. */
const MAX_CACHED_PODS = 10_000;

/**
 * Takes container events from the runtime instead of finding them by listing.
 *
 * Each event carries the pod's whole status, so no inspection is needed; relisting goes on, but only every five
 * minutes. After five failures of the stream the generic PLEG takes over for good.
 *
 * Mirrors pkg/kubelet/pleg/evented.go (EventedPLEG) as of v1.26: v1.25 has none.
 * Differs: bounds the number of pods that events add to the cache.
 */
export class EventedPleg {
  readonly #observer: EventedObserver;
  /** False before the start and after the fall-back. Mirrors isEventedPLEGInUse. */
  isInUse = false;
  /** The generic PLEG has taken over. */
  hasFallenBack = false;

  constructor(
    readonly deps: EventedPlegDeps,
    readonly options: EventedPlegOptions,
  ) {
    this.#observer = new EventedObserver(deps.trace, options.kubeVersion, deps.events.capacity);
  }

  get counts(): Readonly<EventedObserver["counts"]> {
    return this.#observer.counts;
  }

  /** Unhealthy only while the channel is full. Mirrors Healthy. */
  healthy(): PlegHealth {
    const { size, capacity } = this.deps.events;
    if (size < capacity) return { healthy: true };
    const message = `EventedPLEG: pleg event channel capacity is full with ${size} events`;
    return { healthy: false, message, cause: "the kubelet itself: the sync loop does not read the events" };
  }

  /**
   * Reads events until the stream has failed too often, then hands over to the generic PLEG and ends.
   * Mirrors Start, watchEventsChannel, updateGlobalCache.
   * @throws the signal's reason
   */
  async run(signal: AbortSignal): Promise<void> {
    this.isInUse = true;
    try {
      await allUntilOneEnds(signal, [
        (inner) => this.#watchEventsChannel(inner),
        (inner) => this.#updateGlobalCache(inner),
      ]);
    } finally {
      this.isInUse = false;
    }
    this.deps.generic.update(this.options.fallback);
    this.hasFallenBack = true;
    this.#observer.fellBack(this.options.fallback);
  }

  async #watchEventsChannel(signal: AbortSignal): Promise<void> {
    const { service, generic } = this.deps;
    const maxAttempts = factFor("eventedPlegMaxStreamRetries", this.options.kubeVersion);
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      let why = "the runtime ended the stream";
      try {
        for await (const event of service.getContainerEvents(signal)) await this.#processWithCause(event, signal);
      } catch (error) {
        if (signal.aborted || isOwnBug(error)) throw error;
        why = messageOf(error);
      }
      signal.throwIfAborted();
      this.#observer.streamBroke(attempt, maxAttempts, why);
      await generic.relist(signal);
    }
  }

  /** Releases pod workers that wait for news of a pod without events. */
  async #updateGlobalCache(signal: AbortSignal): Promise<never> {
    const { cache, clock } = this.deps;
    const periodMs = factFor("globalCacheUpdatePeriod", this.options.kubeVersion);
    for (;;) {
      cache.updateTime(clock.now());
      await clock.sleep(periodMs, signal);
    }
  }

  #processWithCause(event: ContainerEventResponse, signal: AbortSignal): Promise<void> {
    const { trace, causeOf } = this.deps;
    const causedBy = causeOf?.(event.containerId);
    const process = () => this.#processCriEvent(event, signal);
    return causedBy === undefined ? trace.origin("observed", process) : trace.because({ causedBy }, process);
  }

  async #processCriEvent(event: ContainerEventResponse, signal: AbortSignal): Promise<void> {
    const { runtime, cache, events, trace } = this.deps;
    const status = await runtime.generatePodStatus(event);
    // The sync loop ends with the same signal, and no longer reads events.
    signal.throwIfAborted();
    // The sandbox was removed before the event was made. A relist will find out.
    if (status === undefined) return this.#observer.unknownPod(event);
    const { podUid } = status;
    const { containerId, containerEventType } = event;
    if (cache.size >= MAX_CACHED_PODS && cache.get(podUid).kind === "default") return this.#observer.tooManyPods(event);
    if (containerEventType === ContainerEventType.CONTAINER_DELETED_EVENT) {
      if (status.sandboxStatuses.some(({ sandboxId }) => sandboxId === containerId)) cache.delete(podUid);
    } else {
      const kept = { ...status, ips: getPodIps(cache, status) };
      if (!cache.set(podUid, kept, undefined, toMs(event.createdAt))) return this.#observer.outdated(event, status);
    }
    const types = LIFECYCLE_TYPES[containerEventType] ?? [];
    const causedBy = this.#observer.processed(event, status, types);
    const scope = trace.keepScope({ causedBy, pod: `${status.namespace}/${status.name}` });
    for (const type of types) {
      const isSent = events.push({ podUid, type, containerId, ...scope });
      this.#observer.pushed(type, containerId, isSent);
    }
  }
}

/** Mirrors processCRIEvent. Nothing is sent for other types: the cache holds the status, and no pod worker waits for it. */
const LIFECYCLE_TYPES: Readonly<Record<number, readonly PodLifecycleEventType[]>> = {
  [ContainerEventType.CONTAINER_STARTED_EVENT]: ["ContainerStarted"],
  [ContainerEventType.CONTAINER_STOPPED_EVENT]: ["ContainerDied"],
  [ContainerEventType.CONTAINER_DELETED_EVENT]: ["ContainerDied", "ContainerRemoved"],
};
