import { factFor } from "../../release/facts.js";
import type { Trace } from "../../trace/trace.js";
import { AsyncQueue } from "../../util/async-queue.js";
import type { Clock } from "../../util/clock.js";
import { allUntilOneEnds } from "../../util/loops.js";
import { PodCache } from "../container/cache.js";
import { KubeRuntime } from "../kuberuntime/kube-runtime.js";
import type { PodReader } from "../kuberuntime/runtime-service.js";
import { type EventedCounts, EventedPleg } from "./evented.js";
import type { PodLifecycleEvent, PodLifecycleEventType } from "./events.js";
import { GenericPleg } from "./generic.js";
import type { PlegHealth, RelistDuration } from "./health.js";
import { watchHealth } from "./health-watch.js";
import { cachedPods, type KnownPod } from "./known-pods.js";
import { readEvents } from "./sync-loop.js";

export interface PlegOptions {
  readonly kubeVersion: string;
  /** take events from the runtime, and relist seldom */
  readonly evented: boolean;
  /** ms between relists; default: the kubelet's */
  readonly relistPeriodMs?: number;
}

/** What has happened since the start. */
export interface PlegSummary {
  readonly relists: number;
  readonly failedRelists: number;
  /** pods asked for one by one */
  readonly inspections: number;
  readonly events: Readonly<Partial<Record<PodLifecycleEventType, number>>>;
  readonly discardedEvents: number;
  readonly evented?: EventedCounts;
}

/**
 * PLEG as a kubelet runs it: the generic one, the evented one beside it if wanted, their cache and channel, and a reader of
 * the channel in the sync loop's place.
 *
 * Mirrors pkg/kubelet/kubelet.go (NewMainKubelet and Run, as far as they are about PLEG).
 */
export class Pleg {
  readonly cache: PodCache;
  readonly events: AsyncQueue<PodLifecycleEvent>;
  readonly generic: GenericPleg;
  readonly evented: EventedPleg | undefined;
  /** how often it relists where there are no events */
  readonly usual: RelistDuration;
  readonly #told: Partial<Record<PodLifecycleEventType, number>> = {};

  constructor(
    readonly deps: { readonly service: PodReader; readonly clock: Clock; readonly trace: Trace },
    readonly options: PlegOptions,
  ) {
    const { service, clock, trace } = deps;
    const { kubeVersion, evented } = options;
    const runtime = new KubeRuntime({ service });
    this.cache = new PodCache({ isEvented: evented });
    this.events = new AsyncQueue(factFor("plegChannelCapacity", kubeVersion));
    const { cache, events } = this;
    this.usual = usualDuration(options);
    this.generic = new GenericPleg(
      { runtime, clock, trace, cache, events },
      evented ? seldom(kubeVersion) : this.usual,
    );
    if (evented) {
      const both = { service, runtime, cache, events, generic: this.generic, clock, trace };
      this.evented = new EventedPleg(both, { kubeVersion, fallback: this.usual });
    }
  }

  get summary(): PlegSummary {
    const { discarded, ...counts } = this.generic.counts;
    return {
      ...counts,
      events: { ...this.#told },
      discardedEvents: discarded + (this.evented?.counts.discarded ?? 0),
      ...(this.evented === undefined ? {} : { evented: this.evented.counts }),
    };
  }

  /** By the last list; by the cache, which is newer, where events come. */
  knownPods(): readonly KnownPod[] {
    const { evented, generic, cache } = this;
    const listed = generic.listedPods();
    return evented === undefined || evented.hasFallenBack ? [...listed] : cachedPods(cache, listed);
  }

  /** As the node's condition sees it: both must be well. */
  healthy(): PlegHealth {
    const generic = this.generic.healthy();
    return generic.healthy && this.evented?.isInUse === true ? this.evented.healthy() : generic;
  }

  /**
   * Runs all of it, with a reader of the channel that only tells. What happens is told to the trace.
   * @throws the signal's reason
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, trace } = this.deps;
    await allUntilOneEnds(signal, [
      (inner) => this.generate(inner),
      (inner) => this.#readEvents(inner),
      (inner) => watchHealth({ clock, trace, healthy: () => this.healthy() }, this.generic.duration, inner),
    ]);
    signal.throwIfAborted();
  }

  /**
   * Fills cache and channel; somebody else (the sync loop) reads the channel.
   * @throws the signal's reason
   */
  async generate(signal: AbortSignal): Promise<void> {
    await allUntilOneEnds(signal, [(inner) => this.#relist(inner), (inner) => this.#takeEvents(inner)]);
    signal.throwIfAborted();
  }

  async #relist(signal: AbortSignal): Promise<void> {
    for await (const _ of this.generic.run(signal));
  }

  async #readEvents(signal: AbortSignal): Promise<void> {
    for await (const { type } of readEvents(this.events, this.deps.trace, signal)) {
      this.#told[type] = (this.#told[type] ?? 0) + 1;
    }
  }

  /** From the runtime's stream, if that is wanted; after its end the generic PLEG goes on alone. */
  async #takeEvents(signal: AbortSignal): Promise<void> {
    await this.evented?.run(signal);
    await aborted(signal);
  }
}

/** Mirrors genericPlegRelistPeriod and genericPlegRelistThreshold in pkg/kubelet/kubelet.go. */
function usualDuration({ kubeVersion, relistPeriodMs }: PlegOptions): RelistDuration {
  return {
    relistPeriodMs: relistPeriodMs ?? factFor("plegRelistPeriod", kubeVersion),
    relistThresholdMs: factFor("plegRelistThreshold", kubeVersion),
  };
}

/** While events flow, relists are only a safety net. Mirrors eventedPlegRelistPeriod and eventedPlegRelistThreshold. */
function seldom(kubeVersion: string): RelistDuration {
  return {
    relistPeriodMs: factFor("eventedPlegRelistPeriod", kubeVersion),
    relistThresholdMs: factFor("eventedPlegRelistThreshold", kubeVersion),
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
