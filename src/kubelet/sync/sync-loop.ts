import type { V1Pod } from "../../apimachinery/api/pod.js";
import type { Level, Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { messageOf } from "../../util/errors.js";
import { allUntilOneEnds, untilAborted } from "../../util/loops.js";
import { Channel } from "../config/channel.js";
import { isSyncPodWorthy, type PodLifecycleEvent } from "../pleg/events.js";
import type { ProbeUpdate } from "../prober/results.js";
import { type PodUpdate, podText } from "../types/pod-update.js";
import { aggregateText } from "./runtime-state.js";

const UPSTREAM = { file: "pkg/kubelet/kubelet.go", func: "syncLoopIteration" };
/** How often pods are looked for whose time has come. Upstream: syncTicker. */
export const SYNC_PERIOD_MS = 1_000;
/** Mirrors housekeepingPeriod and housekeepingWarningDuration. */
export const HOUSEKEEPING_PERIOD_MS = 2_000;
export const HOUSEKEEPING_WARNING_MS = 15_000;
/** How long the loop rests while pods cannot be synced. Mirrors base, max and factor in syncLoop. */
export const SKIP_BASE_MS = 100;
export const SKIP_MAX_MS = 5_000;

/** What the loop calls, one at a time. Mirrors SyncHandler in pkg/kubelet/kubelet.go. */
export interface SyncHandler {
  handlePodAdditions(pods: readonly V1Pod[]): Promise<void>;
  handlePodUpdates(pods: readonly V1Pod[]): void;
  handlePodRemoves(pods: readonly V1Pod[]): void;
  handlePodReconcile(pods: readonly V1Pod[]): void;
  handlePodSyncs(pods: readonly V1Pod[]): void;
  /** @throws what the runtime answered */
  handlePodCleanups(signal: AbortSignal): Promise<void>;
}

/** Everything that the loop waits for, but its own tickers. */
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
  /** pods whose time has come. Mirrors getPodsToSync */
  readonly podsToSync: () => readonly V1Pod[];
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
 * The kubelet's main loop: one thing at a time, from whichever channel has something.
 *
 * Mirrors syncLoop and syncLoopIteration in pkg/kubelet/kubelet.go.
 * Differs: where several channels have something, what came first is first; Go chooses by chance.
 */
export class SyncLoop {
  #lastIterationMs: number | undefined;
  #hasIterated = false;
  #toldProblem = "";

  constructor(readonly deps: SyncLoopDeps) {}

  /** Unix ms at which the loop last turned; undefined: not yet. Mirrors LatestLoopEntryTime. */
  get lastIterationMs(): number | undefined {
    return this.#lastIterationMs;
  }

  /** Until `signal` aborts: then it rejects with its reason. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, runtimeState } = this.deps;
    this.#say("Starting kubelet main sync loop", 1);
    const ready = new Channel<LoopItem>(1);
    const pumps = sources(this.deps).map((source) => async (inner: AbortSignal) => {
      for await (const item of source(inner)) await ready.send(item, inner);
      // A channel that is closed is one that has nothing any more.
      await untilAborted(inner);
    });
    const loop = async (inner: AbortSignal) => {
      const items = ready.receive(inner);
      let restMs = SKIP_BASE_MS;
      for (;;) {
        const errors = runtimeState.runtimeErrors();
        if (errors.length > 0) {
          this.#skipped(aggregateText(errors));
          await clock.sleep(restMs, inner);
          restMs = Math.min(SKIP_MAX_MS, restMs * 2);
          continue;
        }
        restMs = SKIP_BASE_MS;
        this.#goesOn();
        const { value: item, done } = await items.next();
        if (done === true) return;
        this.#lastIterationMs = clock.now();
        await this.#iterate(item, inner);
        this.#lastIterationMs = clock.now();
      }
    };
    await allUntilOneEnds(signal, [loop, ...pumps]);
    signal.throwIfAborted();
    throw new Error("the sync loop ended by itself");
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

  async #config({ op, source, pods }: PodUpdate): Promise<void> {
    const { handler, sourcesReady } = this.deps;
    const says = `SyncLoop ${op} source=${JSON.stringify(source)} pods=[${pods.map(podText).join(" ")}]`;
    this.#say(says, 2);
    switch (op) {
      case "ADD":
        // After a restart this brings all pods: they are added as if they were new, and their workers find what runs.
        await handler.handlePodAdditions(pods);
        break;
      case "UPDATE":
      // A deletion is an update: it is graceful, the pod goes when its containers have ended.
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
        this.#failed("Kubelet does not support snapshot update");
    }
    sourcesReady.addSource(source);
  }

  #pleg(event: PodLifecycleEvent): void {
    const { podManager, handler, cleanUpContainersInPod } = this.deps;
    const { podUid, type, containerId } = event;
    if (isSyncPodWorthy(event)) {
      const pod = podManager.getPodByUid(podUid);
      const text = `event=&{ID:${podUid} Type:${type} Data:${containerId}}`;
      if (pod === undefined) this.#say(`SyncLoop (PLEG): pod does not exist, ignore irrelevant event ${text}`, 3);
      else {
        this.#say(`SyncLoop (PLEG): event for pod pod=${JSON.stringify(podText(pod))} ${text}`, 2);
        handler.handlePodSyncs([pod]);
      }
    }
    if (type === "ContainerDied") cleanUpContainersInPod(podUid, containerId);
    if (type === "ContainerRemoved") this.deps.onContainerRemoved?.(podUid);
  }

  #sync(): void {
    const pods = this.deps.podsToSync();
    if (pods.length === 0) return;
    this.#say(`SyncLoop (SYNC) pods total=${pods.length} pods=[${pods.map(podText).join(" ")}]`, 3);
    this.deps.handler.handlePodSyncs(pods);
  }

  #probe(probe: "liveness" | "readiness" | "startup", update: ProbeUpdate): void {
    const { statusManager, podManager, handler } = this.deps;
    const { podUid, containerId, result } = update;
    const isWell = result === "success";
    let status = "";
    if (probe === "liveness") {
      // Only a failure asks for something: the container has to be restarted.
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
    if (pod === undefined) {
      this.#say(`SyncLoop (probe): ignore irrelevant update probe="${probe}" status="${status}" podUID=${podUid}`, 3);
      return;
    }
    this.#say(`SyncLoop (probe) probe="${probe}" status="${status}" pod=${JSON.stringify(podText(pod))}`, 2);
    handler.handlePodSyncs([pod]);
  }

  async #housekeeping(signal: AbortSignal): Promise<void> {
    const { sourcesReady, handler, clock } = this.deps;
    if (!sourcesReady.allReady()) {
      // Pods that are not known yet are not gone.
      this.#say("SyncLoop (housekeeping, skipped): sources aren't ready yet", 3);
      return;
    }
    const startMs = clock.now();
    this.#say("SyncLoop (housekeeping)", 3);
    try {
      await handler.handlePodCleanups(signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#failed(`Failed cleaning pods: ${messageOf(error)}`);
    }
    const tookMs = clock.now() - startMs;
    if (tookMs > HOUSEKEEPING_WARNING_MS) {
      this.#failed(`Housekeeping took longer than ${HOUSEKEEPING_WARNING_MS / 1000}s: ${tookMs / 1000}s`);
    }
    this.#say("SyncLoop (housekeeping) end", 3);
  }

  /** Each problem is told once: the times in it, which change, do not make another one of it. */
  #skipped(problem: string): void {
    const shape = problem.replaceAll(/\d+(\.\d+)?(ms|h|m|s)/g, "");
    const isNew = shape !== this.#toldProblem;
    this.#toldProblem = shape;
    const message = `Skipping pod synchronization err="${problem}"`;
    if (!this.#hasIterated) {
      this.#say(message, 2);
      return;
    }
    const hint = "Pods that run go on; the loop looks again in 100 ms, then seldomer, every 5 s at last.";
    const { trace } = this.deps;
    trace.emit({ kind: "error", message, hint }, { actor: "kubelet", level: isNew ? 1 : 3 });
  }

  #goesOn(): void {
    if (this.#hasIterated && this.#toldProblem !== "") this.#say("Pods are synced again", 1);
    this.#hasIterated = true;
    this.#toldProblem = "";
  }

  #say(text: string, level: Level): void {
    this.deps.trace.emit({ kind: "note", text }, { actor: "kubelet", level });
  }

  #failed(message: string): void {
    const hint = `${UPSTREAM.func} in ${UPSTREAM.file} goes on with the next turn.`;
    this.deps.trace.emit({ kind: "error", message, hint }, { actor: "kubelet", level: 1 });
  }
}

/** In upstream's order. */
function sources({ channels, clock }: SyncLoopDeps): ((signal: AbortSignal) => AsyncIterable<LoopItem>)[] {
  const tick = (kind: "sync" | "housekeeping", periodMs: number) => (signal: AbortSignal) =>
    mapped(ticks(clock, periodMs, signal), (): LoopItem => ({ kind }));
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

/** As a Go ticker: a tick that nobody takes holds back the next. */
async function* ticks(clock: Clock, periodMs: number, signal: AbortSignal): AsyncGenerator<void> {
  for (;;) {
    await clock.sleep(periodMs, signal);
    yield;
  }
}
