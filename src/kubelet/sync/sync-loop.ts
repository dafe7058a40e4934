import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { runInScope, type Scope } from "../../trace/scope.js";
import type { Trace } from "../../trace/trace.js";
import { allUntilOneEnds, untilAborted } from "../../util/async/concurrency.js";
import type { Clock } from "../../util/clock.js";
import type { Wait } from "../../util/timer.js";
import { Channel } from "../config/channel.js";
import { isSyncPodWorthy, type PodLifecycleEvent } from "../pleg/events.js";
import type { ProbeUpdate } from "../prober/results.js";
import type { PodUpdate } from "../types/pod-update.js";
import { aggregateText } from "./runtime-state.js";
import { SyncLoopObserver } from "./sync-loop-observer.js";

/** The interval of checks for due pods. Upstream: syncTicker. */
export const SYNC_PERIOD_MS = 1_000;
/** Mirrors housekeepingPeriod and housekeepingWarningDuration. */
export const HOUSEKEEPING_PERIOD_MS = 2_000;
export const HOUSEKEEPING_WARNING_MS = 15_000;
/** The loop's delays while pods cannot be synced. Mirrors base, max and factor in syncLoop. */
export const SKIP_BASE_MS = 100;
export const SKIP_MAX_MS = 5_000;

/** What the loop calls, one at a time. Mirrors SyncHandler in pkg/kubelet/kubelet.go. */
export interface SyncHandler {
  handlePodAdditions(pods: readonly V1Pod[]): Promise<void>;
  handlePodUpdates(pods: readonly V1Pod[]): void;
  handlePodRemoves(pods: readonly V1Pod[]): void;
  handlePodReconcile(pods: readonly V1Pod[]): void;
  handlePodSyncs(pods: readonly V1Pod[]): void;
  /** @throws the runtime's error */
  handlePodCleanups(signal: AbortSignal): Promise<void>;
}

/** A pod whose time for a sync has come. */
export interface DuePod {
  readonly pod: V1Pod;
  /** why it is due; undefined: the time has passed */
  readonly scope: Scope | undefined;
}

/** The loop's inputs, except its own tickers. */
export interface SyncLoopChannels {
  configCh(signal: AbortSignal): AsyncIterable<PodUpdate>;
  plegCh(signal: AbortSignal): AsyncIterable<PodLifecycleEvent>;
  livenessUpdates(signal: AbortSignal): AsyncIterable<ProbeUpdate>;
  readinessUpdates(signal: AbortSignal): AsyncIterable<ProbeUpdate>;
  startupUpdates(signal: AbortSignal): AsyncIterable<ProbeUpdate>;
}

export interface SyncLoopDeps {
  readonly handler: SyncHandler;
  readonly channels: SyncLoopChannels;
  readonly runtimeState: { runtimeErrors(): readonly string[] };
  readonly sourcesReady: { addSource(source: string): void; allReady(): boolean };
  readonly podManager: { getPodByUid(podUid: string): V1Pod | undefined };
  readonly statusManager: {
    setContainerReadiness(podUid: string, containerId: string, ready: boolean): void;
    setContainerStartup(podUid: string, containerId: string, started: boolean): void;
  };
  /** pods that are due. Mirrors getPodsToSync */
  readonly podsToSync: () => readonly DuePod[];
  /** a container of the pod (or its sandbox) has ended. Mirrors cleanUpContainersInPod */
  readonly cleanUpContainersInPod: (podUid: string, exitedContainerId: string) => void;
  /** a container (or sandbox) of the pod is gone from the runtime */
  readonly onContainerRemoved?: (podUid: string) => void;
  readonly clock: Clock;
  readonly trace: Trace;
}

type LoopItem =
  | { readonly kind: "config"; readonly update: PodUpdate }
  | { readonly kind: "pleg"; readonly event: PodLifecycleEvent }
  | { readonly kind: "sync" | "housekeeping" }
  | { readonly kind: "liveness" | "readiness" | "startup"; readonly update: ProbeUpdate };

/**
 * The kubelet's main loop: handles one event at a time, from any of its channels.
 *
 * Mirrors syncLoop and syncLoopIteration in pkg/kubelet/kubelet.go.
 * Differs: events are handled in order of arrival; Go's select chooses a ready channel at random.
 */
export class SyncLoop {
  #lastIterationMs: number | undefined;
  readonly #observer: SyncLoopObserver;

  constructor(readonly deps: SyncLoopDeps) {
    this.#observer = new SyncLoopObserver(deps.trace);
  }

  /** Unix ms of the loop's last iteration; undefined: none yet. Mirrors LatestLoopEntryTime. */
  get lastIterationMs(): number | undefined {
    return this.#lastIterationMs;
  }

  /** Runs until `signal` aborts: then it rejects with its reason. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, runtimeState } = this.deps;
    this.#observer.started();
    const ready = new Channel<LoopItem>(1);
    const pumps = sources(this.deps).map((source) => async (inner: AbortSignal) => {
      for await (const item of source(inner)) await ready.send(item, inner);
      // A closed channel has no more items.
      await untilAborted(inner);
    });
    const loop = async (inner: AbortSignal) => {
      const items = ready.receive(inner);
      let restMs = SKIP_BASE_MS;
      for (;;) {
        const errors = runtimeState.runtimeErrors();
        if (errors.length > 0) {
          this.#observer.skipped(aggregateText(errors));
          await clock.sleep(restMs, inner, { what: "look whether the runtime works again", setBy: "back-off" });
          restMs = Math.min(SKIP_MAX_MS, restMs * 2);
          continue;
        }
        restMs = SKIP_BASE_MS;
        this.#observer.iterates();
        const { value: item, done } = await items.next();
        if (done === true) return;
        this.#lastIterationMs = clock.now();
        await this.#inItsScope(item, () => this.#iterate(item, inner));
        this.#lastIterationMs = clock.now();
      }
    };
    await allUntilOneEnds(signal, [loop, ...pumps]);
    signal.throwIfAborted();
    throw new Error("the sync loop ended by itself");
  }

  /** Handles an event with its cause; a tick begins a chain. */
  #inItsScope<T>(item: LoopItem, handle: () => T): T {
    if ("update" in item) return runInScope(item.update.scope, handle);
    return "event" in item ? runInScope(item.event.scope, handle) : this.deps.trace.origin("timer", handle);
  }

  async #iterate(item: LoopItem, signal: AbortSignal): Promise<void> {
    switch (item.kind) {
      case "config":
        return this.#config(item.update);
      case "pleg":
        return this.#pleg(item.event);
      case "sync":
        return this.#sync();
      case "housekeeping":
        return this.#housekeeping(signal);
      default:
        return this.#probe(item.kind, item.update);
    }
  }

  async #config(update: PodUpdate): Promise<void> {
    const { handler, sourcesReady } = this.deps;
    const { op, source, pods } = update;
    this.#observer.config(update);
    switch (op) {
      case "ADD":
        // After a restart this brings all pods: they are added as new ones, and their workers find the running
        // containers.
        await handler.handlePodAdditions(pods);
        break;
      case "UPDATE":
      // A deletion is an update: it is graceful, and the pod is removed when its containers have ended.
      case "DELETE":
        handler.handlePodUpdates(pods);
        break;
      case "REMOVE":
        handler.handlePodRemoves(pods);
        break;
      case "RECONCILE":
        handler.handlePodReconcile(pods);
        break;
      default:
        this.#observer.snapshotUnsupported();
    }
    sourcesReady.addSource(source);
  }

  #pleg(event: PodLifecycleEvent): void {
    const { podManager, handler, cleanUpContainersInPod } = this.deps;
    const { podUid, type, containerId } = event;
    if (isSyncPodWorthy(event)) {
      const pod = podManager.getPodByUid(podUid);
      this.#observer.pleg(event, pod);
      if (pod !== undefined) handler.handlePodSyncs([pod]);
    }
    if (type === "ContainerDied") cleanUpContainersInPod(podUid, containerId);
    if (type === "ContainerRemoved") this.deps.onContainerRemoved?.(podUid);
  }

  #sync(): void {
    const due = this.deps.podsToSync();
    if (due.length === 0) return;
    this.#observer.sync(due.map(({ pod }) => pod));
    for (const { pod, scope } of due) runInScope(scope, () => this.deps.handler.handlePodSyncs([pod]));
  }

  #probe(probe: "liveness" | "readiness" | "startup", update: ProbeUpdate): void {
    const { statusManager, podManager, handler } = this.deps;
    const { podUid, containerId, result } = update;
    const isWell = result === "success";
    let status = "";
    if (probe === "liveness") {
      // Only a failure needs a sync: the container must be restarted.
      if (result !== "failure") return;
      status = "unhealthy";
    } else if (probe === "readiness") {
      statusManager.setContainerReadiness(podUid, containerId, isWell);
      status = isWell ? "ready" : "";
    } else {
      statusManager.setContainerStartup(podUid, containerId, isWell);
      status = isWell ? "started" : "unhealthy";
    }
    const pod = podManager.getPodByUid(podUid);
    this.#observer.probe(probe, status, podUid, pod);
    if (pod !== undefined) handler.handlePodSyncs([pod]);
  }

  async #housekeeping(signal: AbortSignal): Promise<void> {
    const { sourcesReady, handler, clock } = this.deps;
    if (!sourcesReady.allReady()) {
      // Before all sources have reported, a missing pod may not be deleted.
      this.#observer.housekeeping(", skipped");
      return;
    }
    const startMs = clock.now();
    this.#observer.housekeeping("");
    try {
      await handler.handlePodCleanups(signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#observer.cleanupFailed(error);
    }
    const tookMs = clock.now() - startMs;
    if (tookMs > HOUSEKEEPING_WARNING_MS) this.#observer.housekeepingSlow(HOUSEKEEPING_WARNING_MS, tookMs);
    this.#observer.housekeeping(" end");
  }
}

/** In upstream's order. */
function sources({ channels, clock }: SyncLoopDeps): ((signal: AbortSignal) => AsyncIterable<LoopItem>)[] {
  const tick = (kind: "sync" | "housekeeping", periodMs: number) => (signal: AbortSignal) =>
    mapped(ticks(clock, periodMs, TICKS[kind], signal), (): LoopItem => ({ kind }));
  return [
    (signal) => mapped(channels.configCh(signal), (update): LoopItem => ({ kind: "config", update })),
    (signal) => mapped(channels.plegCh(signal), (event): LoopItem => ({ kind: "pleg", event })),
    tick("sync", SYNC_PERIOD_MS),
    (signal) => mapped(channels.livenessUpdates(signal), (update): LoopItem => ({ kind: "liveness", update })),
    (signal) => mapped(channels.readinessUpdates(signal), (update): LoopItem => ({ kind: "readiness", update })),
    (signal) => mapped(channels.startupUpdates(signal), (update): LoopItem => ({ kind: "startup", update })),
    tick("housekeeping", HOUSEKEEPING_PERIOD_MS),
  ];
}

async function* mapped<T, U>(items: AsyncIterable<T>, map: (item: T) => U): AsyncGenerator<U> {
  for await (const item of items) yield map(item);
}

const TICKS = {
  sync: { what: "sync the pods that are due", setBy: "syncTicker" },
  housekeeping: { what: "housekeeping", setBy: "housekeepingPeriod" },
};

/** As a Go ticker: a pending tick delays the next. */
async function* ticks(clock: Clock, periodMs: number, wait: Wait, signal: AbortSignal): AsyncGenerator<void> {
  for (;;) {
    await clock.sleep(periodMs, signal, wait);
    yield;
  }
}
