import type { Trace } from "../../trace/trace.js";
import type { AsyncQueue } from "../../util/async-queue.js";
import { Bag } from "../../util/bag.js";
import type { Clock } from "../../util/clock.js";
import { isOwnBug } from "../../util/errors.js";
import { Mutex } from "../../util/mutex.js";
import { Waker } from "../../util/waker.js";
import type { PodCache } from "../container/cache.js";
import type { Pod, PodRef, Runtime } from "../container/runtime.js";
import { computeEvents, isSent, type PodLifecycleEvent } from "./events.js";
import { healthOf, type PendingCall, type PlegHealth, type RelistDuration } from "./health.js";
import { inspectPod } from "./inspect.js";
import { RelistNarrator } from "./narrate.js";
import { type PodRecord, PodRecords } from "./pod-records.js";
import {
  countReport,
  type FoundPod,
  type InspectionOutcome,
  NO_RELISTS,
  type PodOutcome,
  type RelistCounts,
  type RelistReport,
} from "./report.js";

export interface PlegDeps {
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly trace: Trace;
  /** where inspected pods are kept; without one no pod is inspected, and events are sent at once */
  readonly cache?: PodCache;
  /** what pod workers read; a full one loses events */
  readonly events: AsyncQueue<PodLifecycleEvent>;
}

export interface GenericPlegOptions extends RelistDuration {
  /** how many pods are inspected at the same time; upstream inspects one after the other */
  readonly inspectionsInFlight?: number;
}

const INSPECTIONS_IN_FLIGHT = 32;
/** From so many changed pods in one relist on, each is inspected by what the list has shown, without listing it again. */
const MANY_PODS = 32;

/**
 * Finds out what happened to containers by listing them again and again and comparing.
 *
 * Mirrors pkg/kubelet/pleg/generic.go (GenericPLEG).
 * Differs: pods are inspected several at a time, and after a relist in which many changed, by the IDs that the list has
 * shown (their status then counts as old as the list). Each pod still sees its events in order, after its own inspection.
 */
export class GenericPleg {
  readonly #records = new PodRecords();
  readonly #lock = new Mutex();
  readonly #pending = new Bag<PendingCall>();
  readonly #narrator: RelistNarrator;
  #podsToReinspect = new Map<string, Pod>();
  #relistTimeMs: number | undefined;
  #lastError: unknown;
  #duration: RelistDuration;
  readonly #waker = new Waker();
  #counts: RelistCounts = NO_RELISTS;

  constructor(
    readonly deps: PlegDeps,
    readonly options: GenericPlegOptions,
  ) {
    this.#duration = options;
    this.#narrator = new RelistNarrator(deps.trace, deps.events.capacity);
  }

  get duration(): RelistDuration {
    return this.#duration;
  }

  /** Unix ms at which the last successful relist began */
  get relistTimeMs(): number | undefined {
    return this.#relistTimeMs;
  }

  /** Every pod that was in the last list. */
  *listedPods(): Generator<Pod> {
    for (const { old, current } of this.#records.values()) {
      const pod = current ?? old;
      if (pod !== undefined) yield pod;
    }
  }

  /** Of all relists so far. */
  get counts(): RelistCounts {
    return this.#counts;
  }

  /** uids of pods whose last inspection failed */
  get podsToReinspect(): readonly string[] {
    return [...this.#podsToReinspect.keys()];
  }

  /** Takes another period and threshold, and relists at once if it runs. Mirrors Stop, Update and Start in a row. */
  update(duration: RelistDuration): void {
    this.#duration = duration;
    this.#waker.wake();
  }

  /** Healthy as long as a relist has got a list within the threshold. */
  healthy(): PlegHealth {
    return healthOf({
      nowMs: this.deps.clock.now(),
      relistTimeMs: this.#relistTimeMs,
      thresholdMs: this.#duration.relistThresholdMs,
      pending: [...this.#pending],
      lastError: this.#lastError,
    });
  }

  /**
   * Relists, waits the period, and again. Mirrors Start.
   * @yields one report per relist, also for one that failed
   * @throws the signal's reason
   */
  async *run(signal: AbortSignal): AsyncGenerator<RelistReport> {
    const { clock } = this.deps;
    for (;;) {
      this.#waker.forget();
      const report = await this.relist(signal);
      yield report;
      // However often it is wanted soon, at least half of the time is left to others: on a busy node each relist is dear.
      const restMs = Math.min(report.durationMs, this.#duration.relistPeriodMs);
      if (restMs > 0) await clock.sleep(restMs, signal);
      await this.#waker.wait(clock, clock.now() + this.#duration.relistPeriodMs - restMs, signal);
    }
  }

  /**
   * Relists without waiting for the period to end; if a relist is under way, once more after it. For whoever has just
   * changed something in the runtime, or waits for news.
   * Differs: upstream has no such thing in v1.25, and finds its own changes up to a period late.
   */
  relistSoon(): void {
    this.#waker.wake();
  }

  /**
   * Lists all pods, tells what changed since the last time, and brings the cache up to date. One at a time.
   * Mirrors Relist. @throws the signal's reason, or a bug of ours; what the runtime answers is in the report
   */
  relist(signal: AbortSignal): Promise<RelistReport> {
    return this.#lock.run(async () => {
      const report = await this.#relist(signal);
      this.#counts = countReport(this.#counts, report);
      return report;
    });
  }

  async #relist(signal: AbortSignal): Promise<RelistReport> {
    const { clock, runtime, cache } = this.deps;
    const startedMs = clock.now();
    let pods: readonly Pod[];
    try {
      pods = await this.#asking("list its pods", () => runtime.getPods(true, signal));
    } catch (error) {
      if (signal.aborted || isOwnBug(error)) throw error;
      this.#lastError = error;
      this.#narrator.failed(error);
      return { outcome: "failed", startedMs, durationMs: clock.now() - startedMs, error };
    }
    const listMs = clock.now() - startedMs;
    this.#relistTimeMs = startedMs;
    this.#lastError = undefined;
    this.#records.setCurrent(pods);

    const found = this.#compare();
    this.#narrator.compared(pods, found, this.#podsToReinspect.size);
    const needsReinspection = new Map<string, Pod>();
    const changed = await this.#tellChanges(found, startedMs, needsReinspection, signal);
    const reinspected = cache === undefined ? [] : await this.#reinspect(needsReinspection, signal);
    this.#narrator.ended(changed);
    // Only now is everything in the cache as new as the beginning of this relist.
    cache?.updateTime(startedMs);
    this.#podsToReinspect = needsReinspection;
    const durationMs = clock.now() - startedMs;
    const { podsToReinspect } = this;
    return {
      outcome: "done",
      startedMs,
      durationMs,
      listMs,
      podCount: pods.length,
      changed,
      reinspected,
      podsToReinspect,
    };
  }

  #compare(): ChangedRecord[] {
    const found: ChangedRecord[] = [];
    for (const record of this.#records.values()) {
      const changes = computeEvents(record.old, record.current);
      if (changes.length > 0) found.push({ record, pod: refOf(record), changes });
    }
    return found;
  }

  /** Inspects the pods with changes and sends their events. */
  #tellChanges(
    found: readonly ChangedRecord[],
    listedMs: number,
    needsReinspection: Map<string, Pod>,
    signal: AbortSignal,
  ): Promise<PodOutcome[]> {
    const asListedMs = found.length >= MANY_PODS ? listedMs : undefined;
    return this.#severalAtATime(found, async ({ record, pod, changes }) => {
      const inspection = await this.#updateCache(record.podUid, record.current, asListedMs, signal);
      const mayTell = inspection.kind !== "failed" && inspection.kind !== "outdated";
      if (inspection.kind !== "failed") {
        // Inspected, so the second round below need not do it again.
        this.#podsToReinspect.delete(record.podUid);
      } else if (record.current !== undefined) {
        needsReinspection.set(record.podUid, record.current);
      }
      // Untold, the record stays as it is, so that the next relist finds these changes again.
      if (mayTell) this.#records.update(record);
      const events = mayTell ? changes.flatMap((change) => change.events) : [];
      const outcome = { pod, changes, inspection, ...this.#send(events) };
      this.#narrator.told(outcome);
      return outcome;
    });
  }

  /** Inspects again what failed in the last relist. A pod that failed in this one too is asked for a second time. */
  #reinspect(needsReinspection: Map<string, Pod>, signal: AbortSignal): Promise<PodOutcome[]> {
    return this.#severalAtATime([...this.#podsToReinspect.values()], async (pod) => {
      const inspection = await this.#updateCache(pod.podUid, pod, undefined, signal);
      if (inspection.kind === "failed") needsReinspection.set(pod.podUid, pod);
      const outcome = { pod, changes: [], inspection, sent: [], discarded: [] };
      this.#narrator.reinspected(outcome);
      return outcome;
    });
  }

  #send(events: readonly PodLifecycleEvent[]): Pick<PodOutcome, "sent" | "discarded"> {
    const sent: PodLifecycleEvent[] = [];
    const discarded: PodLifecycleEvent[] = [];
    for (const event of events) {
      if (isSent(event)) (this.deps.events.push(event) ? sent : discarded).push(event);
    }
    return { sent, discarded };
  }

  async #updateCache(
    podUid: string,
    pod: Pod | undefined,
    asListedMs: number | undefined,
    signal: AbortSignal,
  ): Promise<InspectionOutcome> {
    const { cache, runtime, clock } = this.deps;
    if (cache === undefined) return { kind: "skipped" };
    if (pod === undefined) {
      // Nothing of it is left in the runtime, dead or alive.
      cache.delete(podUid);
      return { kind: "forgotten" };
    }
    return this.#asking(`inspect pod ${pod.namespace}/${pod.name}`, () =>
      inspectPod({ runtime, cache, clock }, pod, asListedMs, signal),
    );
  }

  async #severalAtATime<T, R>(items: readonly T[], body: (item: T) => Promise<R>): Promise<R[]> {
    const results: R[] = new Array(items.length);
    let next = 0;
    const lane = async () => {
      for (let i = next++; i < items.length; i = next++) results[i] = await body(items[i] as T);
    };
    const lanes = Math.min(items.length, this.options.inspectionsInFlight ?? INSPECTIONS_IN_FLIGHT);
    await Promise.all(Array.from({ length: lanes }, lane));
    return results;
  }

  async #asking<T>(what: string, body: () => Promise<T>): Promise<T> {
    const call: PendingCall = { what, sinceMs: this.deps.clock.now() };
    this.#pending.add(call);
    try {
      return await body();
    } finally {
      this.#pending.delete(call);
    }
  }
}

/** A pod with changes, and the record that they are from. */
interface ChangedRecord extends FoundPod {
  readonly record: PodRecord;
}

function refOf({ podUid, old, current }: PodRecord): PodRef {
  const { name, namespace } = current ?? old ?? { name: "", namespace: "" };
  return { podUid, name, namespace };
}
