import { currentScope, type Scope } from "../../trace/scope.js";
import { Waker } from "../../util/async/waker.js";
import type { Clock } from "../../util/clock.js";
import { Heap } from "../../util/collections/heap.js";
import type { ClusterEvent } from "./framework.js";
import type { PodInfo } from "./node-info.js";
import { priorityOf } from "./objects.js";

/** A pod that waits for a node. Mirrors QueuedPodInfo in pkg/scheduler/framework/types.go. */
export interface QueuedPod {
  info: PodInfo;
  /** Unix ms of the addition to the queue, or of the last failure */
  timestampMs: number;
  attempts: number;
  /** the plugins that rejected it; empty: no particular plugin, so any event can help */
  unschedulablePlugins: ReadonlySet<string>;
  /** `gated`: has scheduling gates; `in-flight`: popped; `gone`: deleted or bound */
  where: "active" | "backoff" | "unschedulable" | "gated" | "in-flight" | "gone";
  /** breaks ties in the order of arrival */
  order: number;
  /** why it is tried: the event that added it, or the last one that moved it */
  scope: Scope | undefined;
}

export interface QueueOptions {
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  /** a pod is tried again after this long, even without an event */
  readonly maxUnschedulableMs: number;
  /** if the active queue is empty, pods do not wait for their back-off to end (since v1.33) */
  readonly popsFromBackoff: boolean;
  /** pods with spec.schedulingGates are not tried (since v1.27) */
  readonly hasGates: boolean;
  /** the events after which a pod that a plugin rejected is tried again */
  readonly eventsOf: (plugin: string) => readonly ClusterEvent[];
}

/**
 * Pods that wait for a node, in three parts: pods to try next, by priority (active); pods that failed a moment ago
 * (backoff); and pods that need a change in the cluster first (unschedulable).
 *
 * Mirrors pkg/scheduler/internal/queue/scheduling_queue.go (PriorityQueue).
 * Differs: a back-off ends exactly on time, not at the next tick of a second, and a pod that has been unschedulable for
 * too long moves exactly on time, not at the next half minute.
 */
export class SchedulingQueue {
  readonly #waker = new Waker();
  readonly #pods = new Map<string, QueuedPod>();
  readonly #active = new Heap<QueuedPod>(before);
  readonly #backoff = new Heap<QueuedPod>((a, b) => this.#backoffEndMs(a) < this.#backoffEndMs(b));
  /** sorted by timestamp: the longest wait is first */
  readonly #unschedulable = new Map<string, QueuedPod>();
  #order = 0;

  constructor(
    readonly clock: Clock,
    readonly options: QueueOptions,
  ) {}

  get(key: string): QueuedPod | undefined {
    return this.#pods.get(key);
  }

  /** The number of pods in each part. */
  counts(): Readonly<Record<QueuedPod["where"], number>> {
    const counts = { active: 0, backoff: 0, unschedulable: 0, gated: 0, "in-flight": 0, gone: 0 };
    for (const { where } of this.#pods.values()) counts[where]++;
    return counts;
  }

  /** Mirrors PriorityQueue.Add, with the SchedulingGates plugin's PreEnqueue. */
  add(info: PodInfo): void {
    this.delete(info.key);
    const nowMs = this.clock.now();
    const none: ReadonlySet<string> = new Set();
    const queued: QueuedPod = {
      info,
      timestampMs: nowMs,
      attempts: 0,
      unschedulablePlugins: none,
      where: "gated",
      order: this.#order++,
      scope: scopeOf(info),
    };
    this.#pods.set(info.key, queued);
    if (!this.#isGated(info)) this.#activate(queued);
  }

  #isGated({ pod }: PodInfo): boolean {
    return this.options.hasGates && (pod.spec?.schedulingGates ?? []).length > 0;
  }

  /** Mirrors PriorityQueue.Update. @param isChanged the change can make the pod schedulable */
  update(info: PodInfo, isChanged: boolean): void {
    const queued = this.#pods.get(info.key);
    if (queued === undefined) {
      this.add(info);
      return;
    }
    queued.info = info;
    const isReady = queued.where === "gated" && !this.#isGated(info);
    const isWorthTrying = queued.where === "unschedulable" && isChanged;
    if (isReady || isWorthTrying) queued.scope = scopeOf(info);
    if (isReady) this.#activate(queued);
    else if (isWorthTrying) this.#requeue(queued);
  }

  delete(key: string): void {
    const queued = this.#pods.get(key);
    if (queued === undefined) return;
    queued.where = "gone";
    this.#pods.delete(key);
    this.#unschedulable.delete(key);
  }

  /** Takes the next pod; waits while there is no pod to try. @throws the signal's reason */
  async pop(signal: AbortSignal): Promise<QueuedPod> {
    for (;;) {
      signal.throwIfAborted();
      this.#flush();
      const queued = takeLive(this.#active, "active") ?? this.#fromBackoff();
      if (queued !== undefined) {
        queued.where = "in-flight";
        queued.attempts++;
        return queued;
      }
      await this.#waker.wait(this.clock, this.#nextMs(), signal);
    }
  }

  #fromBackoff(): QueuedPod | undefined {
    return this.options.popsFromBackoff ? takeLive(this.#backoff, "backoff") : undefined;
  }

  /**
   * Puts back a pod that found no node. Mirrors AddUnschedulableIfNotPresent.
   * @param plugins the plugins that rejected it
   * @param isError an error occurred instead of a rejection: the pod only backs off
   */
  putBack(queued: QueuedPod, plugins: ReadonlySet<string>, isError = false): void {
    if (queued.where !== "in-flight") return;
    queued.timestampMs = this.clock.now();
    queued.unschedulablePlugins = plugins;
    if (isError) {
      this.#backOff(queued);
    } else {
      queued.where = "unschedulable";
      this.#unschedulable.delete(queued.info.key);
      this.#unschedulable.set(queued.info.key, queued);
    }
  }

  /**
   * Moves the pods that an event can help: to the active part, or to the backoff part until their back-off ends.
   * Mirrors MoveAllToActiveOrBackoffQueue.
   * @param preCheck reports whether to move a pod
   */
  moveAll(events: readonly ClusterEvent[], preCheck?: (info: PodInfo) => boolean): void {
    if (events.length === 0) return;
    for (const queued of [...this.#unschedulable.values()]) {
      if (!this.#concerns(queued, events) || preCheck?.(queued.info) === false) continue;
      queued.scope = scopeOf(queued.info);
      this.#requeue(queued);
    }
  }

  #concerns({ unschedulablePlugins }: QueuedPod, events: readonly ClusterEvent[]): boolean {
    if (unschedulablePlugins.size === 0) return true;
    for (const plugin of unschedulablePlugins) {
      if (this.options.eventsOf(plugin).some((event) => events.includes(event))) return true;
    }
    return false;
  }

  #requeue(queued: QueuedPod): void {
    this.#unschedulable.delete(queued.info.key);
    if (this.#backoffEndMs(queued) > this.clock.now()) this.#backOff(queued);
    else this.#activate(queued);
  }

  #activate(queued: QueuedPod): void {
    queued.where = "active";
    this.#active.push(queued);
    this.#waker.wake();
  }

  #backOff(queued: QueuedPod): void {
    queued.where = "backoff";
    this.#backoff.push(queued);
    this.#waker.wake();
  }

  /** 1 s after the first attempt, 2 s after the second, ... 10 s. Mirrors getBackoffTime. */
  #backoffEndMs({ attempts, timestampMs }: QueuedPod): number {
    const { initialBackoffMs, maxBackoffMs } = this.options;
    if (attempts === 0) return timestampMs;
    return timestampMs + Math.min(initialBackoffMs * 2 ** (attempts - 1), maxBackoffMs);
  }

  /** Mirrors flushBackoffQCompleted and flushUnschedulablePodsLeftover. */
  #flush(): void {
    const nowMs = this.clock.now();
    for (let first = this.#firstInBackoff(); first !== undefined; first = this.#firstInBackoff()) {
      if (this.#backoffEndMs(first) > nowMs) break;
      this.#backoff.pop();
      this.#activate(first);
    }
    for (const queued of this.#unschedulable.values()) {
      if (queued.timestampMs + this.options.maxUnschedulableMs > nowMs) break;
      this.#requeue(queued);
    }
  }

  #firstInBackoff(): QueuedPod | undefined {
    for (;;) {
      const first = this.#backoff.peek();
      if (first === undefined || first.where === "backoff") return first;
      this.#backoff.pop();
    }
  }

  #nextMs(): number | undefined {
    const first = this.#firstInBackoff();
    const ends = first === undefined ? [] : [this.#backoffEndMs(first)];
    for (const { timestampMs } of this.#unschedulable.values()) {
      ends.push(timestampMs + this.options.maxUnschedulableMs);
      break;
    }
    return ends.length === 0 ? undefined : Math.min(...ends);
  }
}

/** The scope of the running code, for this pod. */
function scopeOf({ key }: PodInfo): Scope | undefined {
  const scope = currentScope();
  return scope === undefined ? undefined : { ...scope, pod: key };
}

/** Mirrors PrioritySort: higher priority first, then the longer wait. */
function before(a: QueuedPod, b: QueuedPod): boolean {
  const priorities = priorityOf(a.info.pod) - priorityOf(b.info.pod);
  if (priorities !== 0) return priorities > 0;
  return a.timestampMs < b.timestampMs || (a.timestampMs === b.timestampMs && a.order < b.order);
}

/** Skips pods that were deleted or moved after they entered the heap. */
function takeLive(heap: Heap<QueuedPod>, where: QueuedPod["where"]): QueuedPod | undefined {
  for (let queued = heap.pop(); queued !== undefined; queued = heap.pop()) {
    if (queued.where === where) return queued;
  }
  return undefined;
}
