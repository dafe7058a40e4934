import { PodCache } from "../../src/kubelet/container/cache.js";
import type {
  Container,
  ContainerState,
  Pod,
  PodRef,
  PodStatus,
  Runtime,
} from "../../src/kubelet/container/runtime.js";
import type { PodLifecycleEvent } from "../../src/kubelet/pleg/events.js";
import { GenericPleg } from "../../src/kubelet/pleg/generic.js";
import { Trace } from "../../src/trace/trace.js";
import { AsyncQueue } from "../../src/util/async/async-queue.js";
import type { Clock } from "../../src/util/clock.js";
import { differences, type GoldenLine } from "./golden.js";

interface GoldenContainer {
  readonly id: string;
  readonly name?: string;
  readonly state: ContainerState;
}

interface GoldenPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly sandboxes: readonly GoldenContainer[] | null;
  readonly containers: readonly GoldenContainer[] | null;
}

interface GoldenStatus {
  readonly durationMs: number;
  readonly error: string | null;
  readonly ips: readonly string[] | null;
  readonly sandboxStatuses: readonly { readonly id: string; readonly state: string }[] | null;
  readonly containerStatuses: readonly (GoldenContainer & { readonly exitCode: number })[] | null;
}

interface RelistStep {
  readonly op: "relist";
  readonly atMs: number;
  readonly getPods: { readonly durationMs: number; readonly error: string | null; readonly pods: GoldenPod[] | null };
  readonly getPodStatus: Readonly<Record<string, readonly GoldenStatus[]>> | null;
  readonly drain?: boolean;
  readonly expect: Readonly<Record<string, unknown>>;
}

interface HealthStep {
  readonly op: "health";
  readonly atMs: number;
  readonly expect: { readonly healthy: boolean };
}

/** A scenario of pleg/*.jsonl. */
export interface PlegScenario extends GoldenLine {
  readonly channelCapacity: number;
  readonly cacheEnabled: boolean;
  readonly steps: readonly (RelistStep | HealthStep)[];
}

/** A clock that follows the scenario, also backwards. */
class ScenarioClock implements Clock {
  nowMs = 0;
  now(): number {
    return this.nowMs;
  }
  sleep(): Promise<void> {
    throw new Error("nothing sleeps inside a relist");
  }
  timer(): never {
    throw new Error("nothing sleeps inside a relist");
  }
}

/** Answers with the scenario's step, and advances the clock. */
class ScenarioRuntime implements Runtime {
  step: RelistStep | undefined;
  calls: Record<string, number> = {};

  constructor(readonly clock: ScenarioClock) {}

  begin(step: RelistStep): void {
    this.step = step;
    this.calls = {};
  }

  async getPods(): Promise<readonly Pod[]> {
    const answer = this.step?.getPods;
    this.clock.nowMs += answer?.durationMs ?? 0;
    if (typeof answer?.error === "string") throw new Error(answer.error);
    return (answer?.pods ?? []).map((pod) => ({
      podUid: pod.uid,
      name: pod.name,
      namespace: pod.namespace,
      createdAtMs: 0,
      containers: (pod.containers ?? []).map(containerOf),
      sandboxes: (pod.sandboxes ?? []).map(containerOf),
    }));
  }

  async getPodStatus({ podUid, name, namespace }: PodRef): Promise<PodStatus> {
    const call = this.calls[podUid] ?? 0;
    this.calls[podUid] = call + 1;
    const answers = this.step?.getPodStatus?.[podUid] ?? [];
    const answer = answers[Math.min(call, answers.length - 1)];
    this.clock.nowMs += answer?.durationMs ?? 0;
    if (typeof answer?.error === "string") throw new Error(answer.error);
    return {
      podUid,
      name,
      namespace,
      ips: answer?.ips ?? [],
      sandboxStatuses: (answer?.sandboxStatuses ?? []).map(({ id, state }) => ({
        sandboxId: id,
        state: state === "READY" ? "ready" : "not-ready",
        createdAtMs: 0,
        attempt: 0,
        ips: [],
        usesHostNetwork: false,
      })),
      containerStatuses: (answer?.containerStatuses ?? []).map(({ id, name: container, state, exitCode }) => ({
        containerId: id,
        name: container ?? "",
        state,
        exitCode,
        createdAtMs: 0,
        image: "",
        imageId: "",
        hash: 0,
        restartCount: 0,
      })),
    };
  }
}

function containerOf({ id, name, state }: GoldenContainer): Container {
  return { containerId: id, state, ...(name === undefined ? {} : { name }) };
}

/** Plays a scenario through GenericPleg and PodCache. @returns where they differ from the real ones */
export async function replayPleg(scenario: PlegScenario): Promise<string[]> {
  const clock = new ScenarioClock();
  const runtime = new ScenarioRuntime(clock);
  const cache = scenario.cacheEnabled ? new PodCache() : undefined;
  const events = new AsyncQueue<PodLifecycleEvent>(scenario.channelCapacity);
  const deps = { runtime, clock, trace: new Trace(clock), events, ...(cache === undefined ? {} : { cache }) };
  const pleg = new GenericPleg(deps, { relistPeriodMs: 1000, relistThresholdMs: 180_000 });
  const found: string[] = [];
  for (const [i, step] of scenario.steps.entries()) {
    clock.nowMs = step.atMs;
    if (step.op === "health") {
      found.push(...differences(step.expect, { healthy: pleg.healthy().healthy }, `steps[${i}]`));
      continue;
    }
    runtime.begin(step);
    const discardedBefore = pleg.counts.discarded;
    await pleg.relist(new AbortController().signal);
    const drained = step.drain === false ? [] : events.takeAll();
    const got = {
      events: byPod(drained),
      undrainedEvents: events.size,
      discardedEvents: pleg.counts.discarded - discardedBefore,
      getPodStatusCalls: runtime.calls,
      cache: cache === undefined ? null : cacheState(cache),
      podsToReinspect: [...pleg.podsToReinspect].sort(),
    };
    const want = { ...step.expect, podsToReinspect: [...((step.expect["podsToReinspect"] as string[]) ?? [])].sort() };
    found.push(...differences(want, got, `steps[${i}]`), ...cacheDifferences(step.expect["cache"], got.cache, i));
  }
  return found;
}

/** What the general rules would let pass: a timestamp never set is not 0, and pods that must be missing. */
function cacheDifferences(want: unknown, got: ReturnType<typeof cacheState> | null, i: number): string[] {
  if (want === null || got === null) return want === got ? [] : [`steps[${i}].cache: one of them is missing`];
  const { timestampMs, pods } = want as { timestampMs: number | null; pods: Record<string, unknown> | null };
  const found = [];
  if (timestampMs !== got.timestampMs) found.push(`steps[${i}].cache.timestampMs: ${timestampMs}, ${got.timestampMs}`);
  const uids = [
    Object.keys(pods ?? {})
      .sort()
      .join(" "),
    Object.keys(got.pods).sort().join(" "),
  ];
  if (uids[0] !== uids[1]) found.push(`steps[${i}].cache.pods: want ${uids[0]}, got ${uids[1]}`);
  return found;
}

function byPod(events: readonly PodLifecycleEvent[]): Record<string, unknown[]> {
  const pods: Record<string, unknown[]> = {};
  for (const { podUid, type, containerId } of events) {
    pods[podUid] = [...(pods[podUid] ?? []), { type, containerId }];
  }
  return pods;
}

function cacheState(cache: PodCache) {
  const pods: Record<string, unknown> = {};
  for (const [uid, { status, error, modifiedMs }] of cache.entries()) {
    pods[uid] = { modifiedMs, error: (error as Error | undefined)?.message ?? null, status: statusState(status) };
  }
  return { timestampMs: cache.timestampMs ?? null, pods };
}

function statusState(status: PodStatus | undefined) {
  if (status === undefined) return null;
  return {
    id: status.podUid,
    name: status.name,
    namespace: status.namespace,
    ips: status.ips,
    sandboxStatuses: status.sandboxStatuses.map(({ sandboxId, state }) => ({
      id: sandboxId,
      state: state === "ready" ? "READY" : "NOTREADY",
    })),
    containerStatuses: status.containerStatuses.map(({ containerId, name, state, exitCode }) => ({
      id: containerId,
      name,
      state,
      exitCode,
    })),
  };
}
