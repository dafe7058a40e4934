import { PodManager } from "../../src/kubelet/pod/pod-manager.js";
import {
  generateContainersReadyCondition,
  generatePodInitializedCondition,
  generatePodReadyCondition,
} from "../../src/kubelet/status/generate.js";
import { StatusManager } from "../../src/kubelet/status/manager.js";
import { getPhase } from "../../src/kubelet/status/phase.js";
import type { KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import {
  asPod,
  type V1ContainerStatus,
  type V1Pod,
  type V1PodCondition,
  type V1PodStatus,
} from "../../src/staging/apimachinery/api/pod.js";
import { applyStrategicMergePatch } from "../../src/staging/apimachinery/patch/strategic-merge-patch.js";
import type { KubeRequest } from "../../src/staging/client-go/rest/client.js";
import { Trace } from "../../src/trace/trace.js";
import { containerStatus } from "../support/container-status.js";
import { FakeClock } from "../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../support/memory-client.js";
import { differences, type GoldenLine } from "./golden.js";

interface PhaseContainer {
  readonly name: string;
  readonly state: "running" | "waiting" | "terminated" | "none";
  readonly exitCode?: number;
  readonly lastTerminationExitCode?: number | null;
}

/** A row of status/phase.jsonl. */
export interface PhaseRow extends GoldenLine {
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  readonly initContainers: readonly string[] | null;
  readonly containers: readonly string[] | null;
  readonly statuses: readonly PhaseContainer[] | null;
  readonly expectPhase: string;
}

/** A row of status/conditions.jsonl. */
export interface ConditionRow extends GoldenLine {
  readonly fn: "containersReady" | "podReady" | "podInitialized";
  readonly spec: V1Pod["spec"];
  readonly conditions: readonly V1PodCondition[] | null;
  readonly containerStatuses: readonly V1ContainerStatus[] | null;
  readonly phase: V1PodStatus["phase"];
  readonly expect: V1PodCondition;
}

interface StatusStep {
  readonly op: string;
  readonly uid?: string;
  readonly status?: V1PodStatus;
  readonly containerID?: string;
  readonly value?: boolean;
  readonly keep?: readonly string[] | null;
  readonly verb?: string;
  readonly pod?: KubeObject;
  readonly condition?: V1PodCondition;
  readonly resourcesReclaimed?: boolean;
  readonly couldHaveRunningContainers?: boolean;
  readonly expect: Readonly<Record<string, unknown>>;
}

/** A scenario of status/manager.jsonl. */
export interface StatusScenario extends GoldenLine {
  readonly timeOfFirstStep: string;
  readonly pods: readonly KubeObject[] | null;
  readonly localPods?: readonly KubeObject[] | null;
  readonly steps: readonly StatusStep[];
}

export async function replayPhase(row: PhaseRow): Promise<string[]> {
  const named = (names: readonly string[] | null) => (names ?? []).map((name) => ({ name }));
  const { restartPolicy, initContainers, containers, statuses } = row;
  const spec = { restartPolicy, initContainers: named(initContainers), containers: named(containers) };
  return differences(row.expectPhase, getPhase(spec, (statuses ?? []).map(containerStatusOf)), "phase");
}

function containerStatusOf({ name, state, exitCode = 0, lastTerminationExitCode }: PhaseContainer): V1ContainerStatus {
  const states = {
    running: { running: {} },
    waiting: { waiting: {} },
    terminated: { terminated: { exitCode } },
    none: {},
  };
  const hasRun = typeof lastTerminationExitCode === "number";
  const lastState = hasRun ? { terminated: { exitCode: lastTerminationExitCode } } : {};
  return containerStatus({ name, state: states[state], lastState });
}

export async function replayCondition(row: ConditionRow): Promise<string[]> {
  const { fn, spec, conditions, containerStatuses, phase, expect } = row;
  const got = {
    containersReady: () => generateContainersReadyCondition(spec, containerStatuses, phase),
    podReady: () => generatePodReadyCondition(spec, conditions ?? [], containerStatuses, phase),
    podInitialized: () => generatePodInitializedCondition(spec, containerStatuses, phase),
  }[fn]();
  return differences(expect, got, fn);
}

/** Plays a scenario through StatusManager and PodManager. @returns where they differ from the real ones */
export async function replayStatus(scenario: StatusScenario): Promise<string[]> {
  const stage = new Stage(scenario);
  const found: string[] = [];
  for (const [i, step] of scenario.steps.entries()) {
    if (i > 0) await stage.clock.advance(10_000);
    const got = await stage.play(step);
    found.push(...differences(withoutOrder(step.expect), withoutOrder(got), `steps[${i}]`));
    found.push(...missing(step.expect, got, i));
  }
  return found;
}

const PATH = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)(\/status)?$/;

/** An API server with pods and nothing else, and a status manager that talks to it. */
class Stage {
  readonly clock: FakeClock;
  readonly api = new Map<string, V1Pod>();
  readonly podManager = new PodManager();
  readonly manager: StatusManager;
  readonly #client = new MemoryClient((request) => this.#answer(request));
  readonly #failNext = new Set<string>();
  readonly #safety = { resourcesReclaimed: false, couldHaveRunningContainers: false };
  readonly #signal = new AbortController().signal;
  #requests: Record<string, unknown[]> = {};

  constructor({ timeOfFirstStep, pods, localPods }: StatusScenario) {
    this.clock = new FakeClock(Date.parse(timeOfFirstStep));
    for (const pod of (pods ?? []).map(podOf)) {
      this.api.set(keyOf(pod), pod);
      this.podManager.addPod(pod);
    }
    for (const pod of (localPods ?? []).map(podOf)) this.podManager.addPod(pod);
    const podDeletionSafety = {
      podResourcesAreReclaimed: () => this.#safety.resourcesReclaimed,
      podCouldHaveRunningContainers: () => this.#safety.couldHaveRunningContainers,
    };
    const { clock, podManager } = this;
    const deps = { client: this.#client, podManager, podDeletionSafety, clock, trace: new Trace(clock) };
    this.manager = new StatusManager(deps, { kubeVersion: "1.25" });
  }

  async play(step: StatusStep): Promise<Record<string, unknown>> {
    this.#requests = {};
    await this.#run(step);
    const statuses = [...this.manager.statuses()].map(([uid, { version, status }]) => [uid, { version, status }]);
    const keys = new Set([...this.api.keys(), ...Object.keys((step.expect["apiStatus"] ?? {}) as object)]);
    return {
      requests: this.#requests,
      queued: this.manager.queued,
      cached: Object.fromEntries(statuses),
      sentVersions: Object.fromEntries(this.manager.sentVersions()),
      apiStatus: Object.fromEntries([...keys].map((key) => [key, this.api.get(key)?.status ?? null])),
    };
  }

  async #run(step: StatusStep): Promise<void> {
    const { manager, podManager } = this;
    const { uid = "", containerID = "", value = false } = step;
    const pod = podManager.getPodByUid(uid);
    switch (step.op) {
      case "setPodStatus":
        if (pod !== undefined) manager.setPodStatus(pod, step.status ?? {});
        return;
      case "terminatePod":
        if (pod !== undefined) manager.terminatePod(pod);
        return;
      case "setContainerReadiness":
        return manager.setContainerReadiness(uid, containerID, value);
      case "setContainerStartup":
        return manager.setContainerStartup(uid, containerID, value);
      case "drain":
        return manager.drain(this.#signal);
      case "batch":
        return manager.syncBatch(this.#signal);
      case "removeOrphaned":
        return manager.removeOrphanedStatuses(new Set(step.keep ?? []));
      case "failNext":
        this.#failNext.add((step.verb ?? "").toUpperCase());
        return;
      case "safety":
        this.#safety.resourcesReclaimed = step.resourcesReclaimed ?? false;
        this.#safety.couldHaveRunningContainers = step.couldHaveRunningContainers ?? false;
        return;
      default:
        this.#changeApi(step);
    }
  }

  #changeApi({ op, uid, pod, condition }: StatusStep): void {
    const existing = [...this.api.values()].find(({ metadata }) => metadata.uid === uid);
    if (op === "apiSet" && pod !== undefined) this.api.set(keyOf(podOf(pod)), podOf(pod));
    else if (existing === undefined) return;
    else if (op === "apiDelete") this.api.delete(keyOf(existing));
    else if (op === "watch") this.podManager.updatePod(existing);
    else if (op === "apiAddCondition" && condition !== undefined) {
      const conditions = [...(existing.status.conditions ?? []), condition];
      this.api.set(keyOf(existing), { ...existing, status: { ...existing.status, conditions } });
    } else throw new Error(`unknown step ${op}`);
  }

  #answer({ method, path, body }: KubeRequest): MemoryAnswer {
    const [, namespace = "", name = ""] = PATH.exec(path) ?? [];
    const key = `${namespace}/${name}`;
    this.#requests[key] ??= [];
    this.#requests[key].push({ verb: method, path, ...(body === undefined ? {} : { body }) });
    if (this.#failNext.delete(method)) return { status: 500, body: { kind: "Status", message: "failed" } };
    const pod = this.api.get(key);
    if (pod === undefined) return { status: 404, body: { kind: "Status", reason: "NotFound" } };
    if (method === "DELETE") this.api.delete(key);
    if (method === "PATCH") this.api.set(key, patchedPod(pod, body));
    return { status: 200, body: this.api.get(key) ?? pod };
  }
}

function podOf(object: KubeObject): V1Pod {
  const pod = asPod({ ...object, apiVersion: "v1", kind: "Pod" });
  if (pod === undefined) throw new Error(`no pod: ${JSON.stringify(object.metadata)}`);
  return pod;
}

/** As the embedded API server patches, so as upstream's. */
function patchedPod(pod: V1Pod, patch: unknown): V1Pod {
  const fields = structuredClone(patch) as Record<string, unknown>;
  return podOf({ ...pod, ...applyStrategicMergePatch({ ...pod }, fields, "Pod") });
}

function keyOf({ metadata }: V1Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** `$setElementOrder` may be left out of a patch. */
function withoutOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOrder);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => !key.startsWith("$setElementOrder/"));
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutOrder(inner)]));
}

/** What the general rules would let pass: a member that a patch sets to null is not a member that is missing. */
function missing(want: Readonly<Record<string, unknown>>, got: Readonly<Record<string, unknown>>, i: number): string[] {
  const bodies = (value: unknown) =>
    JSON.stringify(sorted(withoutOrder((value as { requests?: unknown }).requests ?? {})));
  return bodies(want) === bodies(got) ? [] : [`steps[${i}].requests: want ${bodies(want)}, got ${bodies(got)}`];
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, sorted(v)]),
  );
}
