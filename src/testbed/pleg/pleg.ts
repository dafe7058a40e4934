import { PodCache } from "../../kubelet/container/cache.js";
import { KubeRuntime } from "../../kubelet/kuberuntime/kube-runtime.js";
import { RuntimeObserver } from "../../kubelet/kuberuntime/report.js";
import type { PodReader } from "../../kubelet/kuberuntime/runtime-service.js";
import { EventedPleg } from "../../kubelet/pleg/evented.js";
import { isSyncPodWorthy, type PodLifecycleEvent, type PodLifecycleEventType } from "../../kubelet/pleg/events.js";
import { GenericPleg } from "../../kubelet/pleg/generic.js";
import { genericRelistDuration, type PlegHealth, type RelistDuration } from "../../kubelet/pleg/health.js";
import { runInScope } from "../../trace/scope.js";
import type { Trace } from "../../trace/trace.js";
import { AsyncQueue } from "../../util/async/async-queue.js";
import { allUntilOneEnds, untilAborted } from "../../util/async/concurrency.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { durationText } from "../../util/release/fact.js";
import { constantsFor, factFor } from "../../util/release/facts.js";
import { watchHealth } from "./health-watch.js";
import { cachedPods, type KnownPod } from "./known-pods.js";

export interface PlegOptions {
  readonly kubeVersion: string;
  /** takes events from the runtime and relists rarely */
  readonly evented: boolean;
  /** ms between relists; default: the kubelet's */
  readonly relistPeriodMs?: number;
}

/** Totals since the start. */
export interface PlegSummary {
  readonly relists: number;
  readonly failedRelists: number;
  /** pods inspected one by one */
  readonly inspections: number;
  readonly events: Readonly<Partial<Record<PodLifecycleEventType, number>>>;
  readonly discardedEvents: number;
  readonly evented?: EventedPleg["counts"];
}

/**
 * PLEG without the rest of a kubelet: the generic one, optionally the evented one, their cache and channel.
 *
 * Assembles them as NewMainKubelet does.
 */
export class Pleg {
  readonly cache: PodCache;
  readonly events: AsyncQueue<PodLifecycleEvent>;
  readonly generic: GenericPleg;
  readonly evented: EventedPleg | undefined;
  readonly #read: Partial<Record<PodLifecycleEventType, number>> = {};

  constructor(
    readonly deps: {
      readonly service: PodReader;
      readonly clock: Clock;
      readonly trace: Trace;
      readonly causeOf?: (containerId: string) => string | undefined;
    },
    readonly options: PlegOptions,
  ) {
    const { service } = deps;
    const { kubeVersion, evented } = options;
    const runtime = new KubeRuntime({ service, observer: new RuntimeObserver(deps.trace) });
    this.cache = new PodCache({ isEvented: evented });
    this.events = new AsyncQueue(factFor("plegChannelCapacity", kubeVersion));
    const genericDeps = { ...deps, runtime, cache: this.cache, events: this.events };
    const usual = genericRelistDuration(kubeVersion, options.relistPeriodMs);
    this.generic = new GenericPleg(genericDeps, evented ? eventedDuration(kubeVersion) : usual);
    if (!evented) return;
    this.evented = new EventedPleg({ ...genericDeps, generic: this.generic }, { kubeVersion, fallback: usual });
  }

  get summary(): PlegSummary {
    const { discarded, ...counts } = this.generic.counts;
    const evented = this.evented && { ...this.evented.counts };
    const discardedEvents = discarded + (evented?.discarded ?? 0);
    return { ...counts, events: { ...this.#read }, discardedEvents, ...defined({ evented }) };
  }

  /** The pods of the last list; with events, those of the cache, which is newer. */
  knownPods(): readonly KnownPod[] {
    const { evented, generic, cache } = this;
    const listed = generic.listedPods();
    return evented === undefined || evented.hasFallenBack ? [...listed] : cachedPods(cache, listed);
  }

  /** Both must be healthy, as for the node's Ready condition. */
  healthy(): PlegHealth {
    const generic = this.generic.healthy();
    return generic.healthy && this.evented?.isInUse === true ? this.evented.healthy() : generic;
  }

  /** Runs PLEG alone, with a reader of the channel in the sync loop's place. @throws the signal's reason */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, trace } = this.deps;
    this.#announce(this.options.kubeVersion);
    await allUntilOneEnds(signal, [
      (inner) => this.generic.run(inner),
      (inner) => this.#takeEvents(inner),
      (inner) => this.#readEvents(inner),
      (inner) => watchHealth({ clock, trace, healthy: () => this.healthy() }, this.generic.duration, inner),
    ]);
    signal.throwIfAborted();
  }

  /** Reports how changes will be found, and after what time. */
  #announce(kubeVersion: string): void {
    const every = durationText(this.generic.duration.relistPeriodMs);
    const fact =
      this.evented === undefined
        ? {
            what: `relist every ${every}`,
            why: "changes are found by comparing two lists, so they are seen up to one period late",
            constants: constantsFor(kubeVersion, "plegRelistPeriod", "plegRelistThreshold"),
          }
        : {
            what: `take the runtime's events, and relist every ${every}`,
            why: "events report a change at once; the relist finds what the events missed",
            constants: constantsFor(
              kubeVersion,
              "eventedPleg",
              "eventedPlegRelistPeriod",
              "eventedPlegRelistThreshold",
            ),
          };
    const upstream = { file: "pkg/kubelet/kubelet.go", func: "NewMainKubelet" };
    this.deps.trace.emit({ kind: "decision", ...fact, upstream }, { actor: "kubelet" });
  }

  async #takeEvents(signal: AbortSignal): Promise<void> {
    await this.evented?.run(signal);
    // After a fall-back, only the generic PLEG continues.
    await untilAborted(signal);
  }

  /** Reports for each event what the sync loop would do: syncLoopIteration with plegCh. */
  async #readEvents(signal: AbortSignal): Promise<void> {
    for await (const event of this.events.iterate(signal)) {
      const { type, podUid } = event;
      const isWorthy = isSyncPodWorthy(event);
      const what = `a sync loop would ${isWorthy ? "" : "not "}sync pod ${podUid} for ${type}`;
      const why = isWorthy
        ? "its worker reads the status from the cache, newer than its last sync"
        : "a removal does not change the pod's state; a death was reported by ContainerDied";
      const upstream = { file: "pkg/kubelet/kubelet.go", func: "syncLoopIteration" };
      const decide = () =>
        this.deps.trace.emit({ kind: "decision", what, why, upstream }, { actor: "kubelet", level: 2 });
      runInScope(event.scope, decide);
      this.#read[type] = (this.#read[type] ?? 0) + 1;
    }
  }
}

/** While events arrive, relists are only a safety net. Mirrors eventedPlegRelistPeriod and eventedPlegRelistThreshold. */
function eventedDuration(kubeVersion: string): RelistDuration {
  return {
    relistPeriodMs: factFor("eventedPlegRelistPeriod", kubeVersion),
    relistThresholdMs: factFor("eventedPlegRelistThreshold", kubeVersion),
  };
}
