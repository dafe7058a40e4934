import { PodCache } from "../../src/kubelet/container/cache.js";
import type { ContainerState, Pod, PodStatus } from "../../src/kubelet/container/runtime.js";
import { PodWorkers } from "../../src/kubelet/podworkers/pod-workers.js";
import {
  CompletedCh,
  type KillPodOptions,
  type PodStatusFunc,
  type PodSyncer,
  type UpdatePodOptions,
} from "../../src/kubelet/podworkers/update.js";
import { CONFIG_SOURCE_ANNOTATION, type SyncPodType } from "../../src/kubelet/types/pod-update.js";
import type { V1Pod } from "../../src/staging/apimachinery/api/pod.js";
import { Trace } from "../../src/trace/trace.js";
import { FakeClock, FakeRandom, settle } from "../support/fake-clock.js";
import { differences, type GoldenLine } from "./golden.js";

interface GoldenPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly rev?: string;
  readonly static?: boolean;
  readonly phase?: V1Pod["status"]["phase"];
  readonly deletionTimestampSet?: boolean;
  readonly deletionGracePeriodSeconds?: number | null;
  readonly terminationGracePeriodSeconds?: number | null;
}

interface GoldenKill {
  readonly evict?: boolean;
  readonly gracePeriodOverride?: number | null;
  readonly statusFn?: string;
  readonly completion?: string;
}

interface UpdateStep {
  readonly op: "update";
  readonly type: SyncPodType;
  readonly pod?: GoldenPod | null;
  readonly mirrorRev?: string;
  readonly runningPod?: GoldenPod | null;
  readonly kill?: GoldenKill | null;
}
interface FinishStep {
  readonly op: "finish";
  readonly uid: string;
  readonly outcome: string;
}
interface KnownPodsStep {
  readonly op: "syncKnownPods";
  readonly desired?: readonly string[] | null;
}
interface CacheStep {
  readonly op: "setCache";
  readonly uid: string;
  readonly containers?: readonly (ContainerState | { readonly state: ContainerState })[] | null;
  readonly sandboxes?: readonly (string | { readonly state: string })[] | null;
  readonly error?: string | null;
}
export type Step = (UpdateStep | FinishStep | KnownPodsStep | CacheStep) & { readonly expect: Record<string, unknown> };

/** A scenario of podworkers/*.jsonl. */
export interface PodWorkersScenario extends GoldenLine {
  readonly steps: readonly Step[];
}

export interface Call {
  readonly uid: string;
  readonly fn: string;
  readonly rev?: string;
  readonly [field: string]: unknown;
}

interface Flight {
  readonly call: Call;
  readonly signal: AbortSignal;
  readonly finish: (outcome: string) => void;
}

/** The rev of a pod object, and of nothing else, tells versions apart. */
const REV = "rev";
const RESYNC_MS = 60_000;
const BACK_OFF_MS = 10_000;

/** Plays a scenario through PodWorkers. @returns where it differs from the real one */
export async function replayPodWorkers(scenario: PodWorkersScenario): Promise<string[]> {
  const stage = new PodWorkersStage();
  try {
    const found: string[] = [];
    for (const [i, step] of scenario.steps.entries()) {
      const got = await stage.play(step);
      const want = comparable(step.expect);
      found.push(...differences(want, comparable(got), `steps[${i}]`));
    }
    return found;
  } finally {
    await stage.close();
  }
}

/** Pod workers with sync functions that block until a step lets them go. */
export class PodWorkersStage {
  readonly clock = new FakeClock();
  readonly cache = new PodCache();
  readonly inFlight = new Map<string, Flight>();
  readonly completions = new Map<string, CompletedCh>();
  readonly closedBefore = new Set<string>();
  readonly names = new Map<string, string>([["ghost", "ghost_ghost"]]);
  readonly statusFns = new Map<PodStatusFunc, string>();
  calls: Call[] = [];
  enqueued: { readonly uid: string; readonly delay: string }[] = [];
  warningEvents = 0;
  readonly workers: PodWorkers;

  constructor() {
    this.workers = new PodWorkers(
      {
        syncer: this.#syncer(),
        // The recorded cache never blocked.
        podCache: {
          get: (uid) => this.cache.get(uid),
          getNewerThan: async (uid) => this.cache.get(uid),
        },
        workQueue: { enqueue: (uid, delayMs) => void this.enqueued.push({ uid, delay: delayName(delayMs) }) },
        recorder: { event: (_pod, type) => this.#count(type) },
        clock: this.clock,
        random: new FakeRandom(),
        trace: new Trace(this.clock),
      },
      { kubeVersion: "1.25", resyncIntervalMs: RESYNC_MS },
    );
  }

  async play(step: Step): Promise<Record<string, unknown>> {
    this.calls = [];
    this.enqueued = [];
    this.warningEvents = 0;
    const known = this.#run(step);
    await settle(2);
    return {
      calls: this.calls,
      inFlight: [...this.inFlight.values()].map(({ call: { uid, fn, rev }, signal }) => ({
        uid,
        fn,
        rev,
        contextCanceled: signal.aborted,
      })),
      enqueued: this.enqueued,
      completionsClosed: this.#closedNow(),
      warningEvents: this.warningEvents,
      syncKnownPods: known,
      states: Object.fromEntries([...this.names].map(([uid, fullName]) => [uid, this.#answers(uid, fullName)])),
    };
  }

  async close(): Promise<void> {
    for (const { finish } of this.inFlight.values()) finish("error");
    await this.workers.close();
  }

  #run(step: Step): Record<string, string> | undefined {
    switch (step.op) {
      case "update":
        this.workers.updatePod(this.#updateOf(step));
        return undefined;
      case "finish": {
        const flight = this.inFlight.get(step.uid);
        this.inFlight.delete(step.uid);
        flight?.finish(step.outcome);
        return undefined;
      }
      case "syncKnownPods":
        return Object.fromEntries(
          this.workers.syncKnownPods((step.desired ?? []).map((uid) => podOf({ uid, name: "", namespace: "" }))),
        );
      case "setCache":
        this.cache.set(step.uid, cachedStatus(step), step.error ?? undefined, 0);
        return undefined;
    }
  }

  #updateOf({ type, pod, mirrorRev, runningPod, kill }: UpdateStep): UpdatePodOptions {
    const { uid, name, namespace } = pod ?? runningPod ?? { uid: "", name: "", namespace: "" };
    this.names.set(uid, `${name}_${namespace}`);
    const base = {
      updateType: type,
      ...(mirrorRev === undefined || mirrorRev === ""
        ? {}
        : { mirrorPod: podOf({ uid: "mirror", name, namespace, rev: mirrorRev }) }),
      ...(kill === undefined || kill === null ? {} : { killPodOptions: this.#killOf(kill) }),
    };
    const running: Pod = { podUid: uid, name, namespace, createdAtMs: 0, containers: [], sandboxes: [] };
    const isRunning = runningPod !== undefined && runningPod !== null;
    if (pod === undefined || pod === null) return { ...base, runningPod: running };
    return { ...base, pod: podOf(pod), ...(isRunning ? { runningPod: running } : {}) };
  }

  #killOf({ evict, gracePeriodOverride, statusFn, completion }: GoldenKill): KillPodOptions {
    const completedCh = new CompletedCh();
    if (completion) this.completions.set(completion, completedCh);
    const podStatusFunc: PodStatusFunc = (status) => status;
    if (statusFn) this.statusFns.set(podStatusFunc, statusFn);
    return {
      ...(evict === undefined ? {} : { evict }),
      ...(completion ? { completedCh } : {}),
      ...(statusFn ? { podStatusFunc } : {}),
      ...(typeof gracePeriodOverride === "number"
        ? { podTerminationGracePeriodSecondsOverride: gracePeriodOverride }
        : {}),
    };
  }

  #syncer(): PodSyncer {
    return {
      syncPod: ({ updateType, pod, mirrorPod }, signal) =>
        this.#enter({ ...callOf("syncPod", pod), updateType, mirrorRev: mirrorPod && revOf(mirrorPod) }, signal),
      syncTerminatingPod: async ({ pod, runningPod, gracePeriodSeconds, podStatusFunc }, signal) => {
        const statusFn = podStatusFunc && this.statusFns.get(podStatusFunc);
        const extras = { gracePeriod: gracePeriodSeconds, statusFn, runningPod: runningPod !== undefined };
        await this.#enter({ ...callOf("syncTerminatingPod", pod), ...extras }, signal);
      },
      syncTerminatedPod: async ({ pod }, signal) => {
        await this.#enter(callOf("syncTerminatedPod", pod), signal);
      },
    };
  }

  #enter(call: Call, signal: AbortSignal): Promise<{ isTerminal: boolean }> {
    this.calls.push(call);
    return new Promise((resolve, reject) => {
      const finish = (outcome: string) => {
        const error = errorOf(outcome);
        if (error === undefined) resolve({ isTerminal: outcome === "terminal" });
        else reject(error);
      };
      this.inFlight.set(call.uid, { call, signal, finish });
    });
  }

  #count(type: "Normal" | "Warning"): void {
    if (type === "Warning") this.warningEvents++;
  }

  #closedNow(): string[] {
    const closed = [...this.completions].filter(([name, { isClosed }]) => isClosed && !this.closedBefore.has(name));
    for (const [name] of closed) this.closedBefore.add(name);
    return closed.map(([name]) => name);
  }

  #answers(uid: string, fullName: string): Record<string, unknown> {
    const { workers } = this;
    const view = workers.views().find(({ podUid }) => podUid === uid);
    const { workType, pod } = view?.pending ?? {};
    const fns = { sync: "syncPod", terminating: "syncTerminatingPod", terminated: "syncTerminatedPod" };
    return {
      known: view !== undefined,
      working: view?.working,
      finished: view?.phase === "finished",
      isPodKnownTerminated: workers.isPodKnownTerminated(uid),
      couldHaveRunningContainers: workers.couldHaveRunningContainers(uid),
      isPodTerminationRequested: workers.isPodTerminationRequested(uid),
      shouldPodContainersBeTerminating: workers.shouldPodContainersBeTerminating(uid),
      shouldPodRuntimeBeRemoved: workers.shouldPodRuntimeBeRemoved(uid),
      shouldPodContentBeRemoved: workers.shouldPodContentBeRemoved(uid),
      isPodForMirrorPodTerminatingByFullName: workers.isPodForMirrorPodTerminatingByFullName(fullName),
      ...(workType === undefined || pod === undefined ? {} : { pending: `${fns[workType]}:${revOf(pod)}` }),
    };
  }
}

function podOf(pod: GoldenPod): V1Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: pod.name,
      namespace: pod.namespace,
      uid: pod.uid,
      annotations: { [CONFIG_SOURCE_ANNOTATION]: pod.static === true ? "file" : "api" },
      ...(pod.rev === undefined ? {} : { labels: { [REV]: pod.rev } }),
      ...(pod.deletionTimestampSet === true ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
      ...(typeof pod.deletionGracePeriodSeconds === "number"
        ? { deletionGracePeriodSeconds: pod.deletionGracePeriodSeconds }
        : {}),
    },
    spec: {
      containers: [],
      ...(typeof pod.terminationGracePeriodSeconds === "number"
        ? { terminationGracePeriodSeconds: pod.terminationGracePeriodSeconds }
        : {}),
    },
    status: { phase: pod.phase ?? "" },
  };
}

function cachedStatus({ uid, containers, sandboxes }: CacheStep): PodStatus {
  const stateOf = <T extends string>(one: T | { readonly state: T }): T => (typeof one === "string" ? one : one.state);
  return {
    podUid: uid,
    name: "",
    namespace: "",
    ips: [],
    containerStatuses: (containers ?? []).map((one, i) => ({
      containerId: `c${i}`,
      name: `c${i}`,
      state: stateOf(one),
      createdAtMs: 0,
      exitCode: 0,
      image: "",
      imageId: "",
      hash: 0,
      restartCount: 0,
    })),
    sandboxStatuses: (sandboxes ?? []).map((one, i) => ({
      sandboxId: `s${i}`,
      state: stateOf(one) === "READY" ? "ready" : "not-ready",
      createdAtMs: 0,
      attempt: 0,
      ips: [],
      usesHostNetwork: false,
    })),
  };
}

function callOf(fn: string, pod: V1Pod): Call {
  return { uid: pod.metadata.uid, fn, rev: revOf(pod) };
}

/** Empty for a pod that only the runtime knows. */
function revOf(pod: V1Pod): string {
  return pod.metadata.labels?.[REV] ?? "";
}

function errorOf(outcome: string): Error | undefined {
  const canceled = new DOMException("context canceled", "AbortError");
  switch (outcome) {
    case "ok":
    case "terminal":
      return undefined;
    case "networkNotReady":
      return new Error("network is not ready: no CNI configuration");
    case "canceled":
      return canceled;
    case "wrappedCanceled":
      return new Error(`failed: ${canceled.message}`, { cause: canceled });
    default:
      return new Error("failed");
  }
}

function delayName(delayMs: number): string {
  if (delayMs === 0) return "now";
  const within = (periodMs: number) => delayMs >= periodMs && delayMs <= periodMs * 1.5;
  if (within(RESYNC_MS)) return "resync";
  if (within(BACK_OFF_MS)) return "backoff";
  return within(1000) ? "transient" : `${delayMs} ms`;
}

/** Lists that are ordered per pod only, or not at all, by pod or sorted. */
function comparable(expect: Record<string, unknown>): Record<string, unknown> {
  const { calls, enqueued, inFlight, completionsClosed, ...rest } = expect;
  const byUid = (list: unknown) => {
    const pods: Record<string, unknown[]> = {};
    for (const { uid, ...one } of (list ?? []) as { readonly uid: string }[]) {
      pods[uid] ??= [];
      pods[uid].push(one);
    }
    return pods;
  };
  const closed = [...((completionsClosed ?? []) as string[])].sort();
  return {
    ...rest,
    calls: byUid(calls),
    enqueued: byUid(enqueued),
    inFlight: byUid(inFlight),
    completionsClosed: closed,
  };
}
