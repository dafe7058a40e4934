import { goDuration } from "../../staging/apimachinery/time.js";
import type { Trace } from "../../trace/trace.js";
import type { AsyncQueue } from "../../util/async/async-queue.js";
import { inParallel } from "../../util/async/concurrency.js";
import { Mutex } from "../../util/async/mutex.js";
import { Waker } from "../../util/async/waker.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { isOwnBug } from "../../util/errors.js";
import type { PodCache } from "../container/cache.js";
import type { Pod, PodStatus, Runtime } from "../container/runtime.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import { computeEvents, type generateEvents, isSent, type PodLifecycleEvent } from "./events.js";
import { causeOf, type PendingCall, type PlegHealth, type RelistDuration, type RelistTimes } from "./health.js";
import { updateRelistMetrics } from "./relist-metrics.js";
import { type ChangedPod, type Inspection, RelistObserver } from "./relist-observer.js";

const RELIST = { what: "relist", setBy: "relistPeriod" };

export interface PlegDeps {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly trace: Trace;
  /** takes what inspections find; without a cache no pod is inspected, and events are sent at once */
  readonly cache?: PodCache;
  /** what pod workers read; a full one loses events */
  readonly events: AsyncQueue<PodLifecycleEvent>;
  readonly metrics?: KubeletMetrics;
  /** default: PLEG's own */
  readonly generateEvents?: typeof generateEvents;
  /** the id of the call that last changed a container or sandbox; default: none is known */
  readonly causeOf?: (containerId: string) => string | undefined;
}

/** A pod as last reported to the pod workers, and as just listed. Mirrors podRecord. */
interface PodRecord {
  old: Pod | undefined;
  current: Pod | undefined;
}

const INSPECTIONS_IN_FLIGHT = 32;
/** With this many changed pods, inspects the IDs that the list has shown, which saves two lists per pod. */
const MANY_PODS = 32;

/**
 * Finds out what happened to containers by listing them again and again and comparing.
 *
 * Mirrors pkg/kubelet/pleg/generic.go (GenericPLEG).
 * Differs: pods are inspected several at a time, and if many have changed, by the IDs in the list (their status is then
 * as old as the list). Each pod still gets its events in order, after its own inspection.
 */
export class GenericPleg {
  readonly #podRecords = new Map<string, PodRecord>();
  readonly #observer: RelistObserver;
  readonly #relistLock = new Mutex();
  readonly #pending = new Set<PendingCall>();
  readonly #waker = new Waker();
  /** the cause of the first call of relistSoon since the last relist */
  #askedBy: string | undefined;
  #podsToReinspect = new Map<string, Pod>();
  #relistTimeMs: number | undefined;
  /** the start of the relist that is under way */
  #beganMs: number | undefined;
  #lastError: unknown;
  #duration: RelistDuration;

  constructor(
    readonly deps: PlegDeps,
    duration: RelistDuration,
  ) {
    this.#duration = duration;
    this.#observer = new RelistObserver(deps.trace, deps.events.capacity, deps.causeOf);
  }

  get duration(): RelistDuration {
    return this.#duration;
  }

  /** Every pod in the last list. */
  listedPods(): Pod[] {
    return [...this.#podRecords.values()].flatMap(({ old, current }) => current ?? old ?? []);
  }

  /** Of all relists so far. */
  get counts(): Readonly<RelistObserver["counts"]> {
    return this.#observer.counts;
  }

  /** uids of pods whose last inspection failed */
  get podsToReinspect(): readonly string[] {
    return [...this.#podsToReinspect.keys()];
  }

  /** Changes period and threshold, and relists at once if it runs. Mirrors Stop, Update and Start in a row. */
  update(duration: RelistDuration): void {
    this.#duration = duration;
    this.#waker.wake();
  }

  /** Its relists at this moment. */
  get times(): RelistTimes {
    return defined({ nowMs: this.deps.clock.now(), lastMs: this.#relistTimeMs, beganMs: this.#beganMs });
  }

  /** Healthy while the last successful relist began within the threshold. Mirrors Healthy. */
  healthy(): PlegHealth {
    const nowMs = this.deps.clock.now();
    const cause = () => causeOf([...this.#pending], this.#lastError, nowMs);
    if (this.#relistTimeMs === undefined) {
      return { healthy: false, message: "pleg has yet to be successful", cause: cause() };
    }
    const elapsedMs = nowMs - this.#relistTimeMs;
    const thresholdMs = this.#duration.relistThresholdMs;
    if (elapsedMs <= thresholdMs) return { healthy: true };
    const message = `pleg was last seen active ${goDuration(elapsedMs)} ago; threshold is ${goDuration(thresholdMs)}`;
    return { healthy: false, message, cause: cause() };
  }

  /** Relists every period. Mirrors Start. @throws the signal's reason */
  async run(signal: AbortSignal): Promise<never> {
    const { clock } = this.deps;
    for (;;) {
      this.#waker.forget();
      const startMs = clock.now();
      await this.#relistInTurn(signal);
      const { relistPeriodMs } = this.#duration;
      // Rest as long as the relist took, however often relistSoon is called: on a busy node each relist is expensive.
      const restMs = Math.min(clock.now() - startMs, relistPeriodMs);
      const nowMs = clock.now();
      const wait = { ...RELIST, valueMs: relistPeriodMs };
      await this.#waker.wait(clock, nowMs + relistPeriodMs, signal, wait, nowMs + restMs);
    }
  }

  /**
   * Relists before the period ends; if a relist is under way, once more after it. For callers that have just changed
   * something in the runtime, or wait for news.
   * Differs: upstream v1.25 has no such call, and finds its own changes up to a period late.
   */
  relistSoon(): void {
    this.#askedBy ??= this.deps.trace.cause;
    this.#waker.wake();
  }

  /** A relist of the loop: because somebody asked for it, or because of the time. */
  #relistInTurn(signal: AbortSignal): Promise<unknown> {
    const { trace } = this.deps;
    const causedBy = this.#askedBy;
    this.#askedBy = undefined;
    const relist = () => this.relist(signal);
    return causedBy === undefined ? trace.origin("timer", relist) : trace.because({ causedBy }, relist);
  }

  /**
   * Lists all pods, sends events for what changed since the last list, and updates the cache. One at a time.
   * Mirrors Relist.
   * @returns the runtime's error, if it did not list its pods
   * @throws the signal's reason, or a bug of ours
   */
  relist(signal: AbortSignal): Promise<unknown> {
    return this.#relistLock.run(() => this.#measured(signal));
  }

  /** As upstream's, the durations and intervals are also those of relists that fail. */
  async #measured(signal: AbortSignal): Promise<unknown> {
    const { clock, metrics } = this.deps;
    const startMs = clock.now();
    if (this.#relistTimeMs !== undefined) {
      metrics?.observe("kubelet_pleg_relist_interval_seconds", startMs - this.#relistTimeMs);
    }
    this.#beganMs = startMs;
    try {
      return await this.#relist(startMs, signal);
    } finally {
      this.#beganMs = undefined;
      metrics?.observe("kubelet_pleg_relist_duration_seconds", clock.now() - startMs);
    }
  }

  async #relist(startMs: number, signal: AbortSignal): Promise<unknown> {
    const { runtime, cache, metrics } = this.deps;
    // Get all the pods.
    let pods: readonly Pod[];
    try {
      pods = await this.#awaiting("list its pods", signal, () => runtime.getPods(true, signal));
    } catch (error) {
      if (signal.aborted || isOwnBug(error)) throw error;
      this.#lastError = error;
      this.#observer.failed(error);
      return error;
    }
    this.#relistTimeMs = startMs;
    this.#lastError = undefined;
    if (metrics !== undefined) updateRelistMetrics(metrics, startMs, pods);
    this.#setCurrent(pods);

    // Compare the old and the current pods, and generate events.
    const changed = this.#computeEvents();
    this.#observer.compared(pods, changed, this.#podsToReinspect.size);

    // Inspect each pod that has events, and send them.
    const needsReinspection = new Map<string, Pod>();
    const listedMs = changed.length >= MANY_PODS ? startMs : undefined;
    await inParallel(changed, INSPECTIONS_IN_FLIGHT, async (pod) => {
      const { podUid } = pod;
      const current = this.#podRecords.get(podUid)?.current;
      const inspect = () => this.#updateCache(podUid, current, listedMs, signal);
      const inspection = await this.#observer.inspecting(pod, inspect);
      // The sync loop ends with the same signal, and no longer reads events.
      signal.throwIfAborted();
      const isFailed = inspection.kind === "failed";
      if (!isFailed) this.#podsToReinspect.delete(podUid);
      else if (current !== undefined) needsReinspection.set(podUid, current);
      // Otherwise the record stays as it is, so that the next relist finds these changes again.
      const isSeen = !isFailed && inspection.kind !== "outdated";
      const discarded = isSeen ? this.#sendEvents(pod, current) : [];
      this.#observer.sent(pod, inspection, discarded);
    });

    if (cache !== undefined) {
      // Reinspect pods whose inspection failed in the last relist.
      await inParallel([...this.#podsToReinspect.values()], INSPECTIONS_IN_FLIGHT, async (pod) => {
        const inspect = () => this.#updateCache(pod.podUid, pod, undefined, signal);
        const inspection = await this.#observer.inspecting(pod, inspect);
        if (inspection.kind === "failed") needsReinspection.set(pod.podUid, pod);
        this.#observer.reinspected(pod, inspection);
      });
      // Everything in the cache is now at least as new as the start of this relist.
      cache.updateTime(startMs);
    }
    this.#podsToReinspect = needsReinspection;
    this.#observer.ended();
    return undefined;
  }

  /** Mirrors podRecords.setCurrent. Differs: drops pods that vanished before any event was sent; upstream keeps them. */
  #setCurrent(pods: readonly Pod[]): void {
    for (const record of this.#podRecords.values()) record.current = undefined;
    for (const pod of pods) {
      const record = this.#podRecords.get(pod.podUid);
      if (record === undefined) this.#podRecords.set(pod.podUid, { old: undefined, current: pod });
      else record.current = pod;
    }
    for (const [podUid, { old, current }] of this.#podRecords) {
      if (old === undefined && current === undefined) this.#podRecords.delete(podUid);
    }
  }

  #computeEvents(): ChangedPod[] {
    return [...this.#podRecords].flatMap(([podUid, { old, current }]) => {
      const changes = computeEvents(old, current, this.deps.generateEvents);
      const { name, namespace } = current ?? old ?? { name: "", namespace: "" };
      return changes.length === 0 ? [] : [{ podUid, name, namespace, changes }];
    });
  }

  /** Updates the record, as podRecords.update, and sends the pod's events. @returns those that did not fit in the channel */
  #sendEvents(pod: ChangedPod, current: Pod | undefined): PodLifecycleEvent[] {
    const { podUid, changes } = pod;
    if (current === undefined) this.#podRecords.delete(podUid);
    else this.#podRecords.set(podUid, { old: current, current: undefined });
    const events = changes.flatMap((change) => change.events).filter(isSent);
    const discarded = events.filter(
      (event) => !this.deps.events.push({ ...event, ...this.#observer.keepScope(pod, event) }),
    );
    if (discarded.length > 0) this.deps.metrics?.add("kubelet_pleg_discard_events", {}, discarded.length);
    return discarded;
  }

  /** Mirrors updateCache. @param listedMs Unix ms of the list to inspect by, if the runtime can */
  async #updateCache(
    podUid: string,
    pod: Pod | undefined,
    listedMs: number | undefined,
    signal: AbortSignal,
  ): Promise<Inspection> {
    const { cache, runtime, clock } = this.deps;
    if (cache === undefined) return { kind: "skipped" };
    if (pod === undefined) {
      // Nothing of the pod is left in the runtime, dead or alive.
      cache.delete(podUid);
      return { kind: "forgotten" };
    }
    // Taken before the call, not after: a waiter for "newer than" must not miss what happens during the call.
    const byList = listedMs === undefined ? undefined : runtime.getListedPodStatus?.(pod, signal);
    const modifiedMs = byList === undefined ? clock.now() : (listedMs ?? 0);
    let status: PodStatus;
    try {
      const what = `inspect pod ${pod.namespace}/${pod.name}`;
      status = await this.#awaiting(what, signal, () => byList ?? runtime.getPodStatus(pod, signal));
    } catch (error) {
      if (signal.aborted || isOwnBug(error)) throw error;
      cache.set(podUid, undefined, error, modifiedMs);
      return { kind: "failed", error };
    }
    status = { ...status, ips: getPodIps(cache, status) };
    const isStored = cache.set(podUid, status, undefined, status.timestampMs ?? modifiedMs);
    return isStored ? { kind: "stored", status } : { kind: "outdated" };
  }

  async #awaiting<T>(what: string, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    const pending: PendingCall = { what, sinceMs: this.deps.clock.now() };
    this.#pending.add(pending);
    try {
      return await call();
    } finally {
      // An aborted call stays: at the end it explains why no relist has succeeded.
      if (!signal.aborted) this.#pending.delete(pending);
    }
  }
}

/**
 * A dead pod has lost its network, but its status still shows its IP: keeps the cached one, unless a sandbox is ready (a
 * ready sandbox without an IP has none).
 *
 * Mirrors getPodIPs in pkg/kubelet/pleg/generic.go.
 */
export function getPodIps(cache: PodCache, status: PodStatus): readonly string[] {
  if (status.ips.length > 0) return status.ips;
  const cached = cache.get(status.podUid);
  const ips = cached.status?.ips ?? [];
  if (cached.error !== undefined || ips.length === 0) return status.ips;
  return status.sandboxStatuses.some(({ state }) => state === "ready") ? status.ips : ips;
}
