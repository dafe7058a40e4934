import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import { isTerminating, nameOf } from "../../staging/apimachinery/api/objects.js";
import { StatusError } from "../../staging/apimachinery/errors.js";
import type { PodDisruptionBudget } from "../../staging/apimachinery/policyv1/pod-disruption-budget.js";
import type { LocalClient } from "../../staging/client-go/dynamic/interface.js";
import type { Ctx } from "../../trace/ctx.js";
import { LEVELS } from "../../trace/trace.js";
import { messageOf } from "../../util/errors.js";
import { constantsFor, factFor } from "../../util/release/facts.js";
import type { SchedulerCache } from "./cache.js";
import type { SeriesRecorder } from "./event-recorder.js";
import { explain } from "./explain.js";
import { type Diagnosis, fitErrorMessage, NO_NODES } from "./fit-error.js";
import type { Binder } from "./framework.js";
import type { PodInfo } from "./node-info.js";
import type { Nominator } from "./nominator.js";
import { nodeNameOf, priorityOf, type SchedulablePod, uidOf } from "./objects.js";
import { preempt } from "./plugins/default-preemption.js";
import {
  type StatusChange,
  statusPatch,
  withDisruptionTarget,
  withoutNomination,
  withSchedulingFailure,
} from "./pod-status.js";
import type { Profile } from "./profile.js";
import type { QueuedPod, SchedulingQueue } from "./queue.js";
import { Algorithm } from "./schedule-pod.js";

/** The schedulerName of pods that name no other scheduler. */
export const DEFAULT_SCHEDULER = "default-scheduler";

const STRATEGIC_MERGE = "application/strategic-merge-patch+json";
const AS_SCHEDULER = { actor: "scheduler" } as const;

export interface CycleDeps extends Ctx {
  readonly client: LocalClient;
  readonly kubeVersion: string;
  readonly profile: Profile;
  /** of all namespaces */
  readonly budgets: () => readonly PodDisruptionBudget[];
  readonly cache: SchedulerCache;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly recorder: SeriesRecorder;
  readonly bind: Binder;
  /** Runs a binding that waits for others beside the next cycles. */
  readonly inBackground: (work: (signal: AbortSignal) => Promise<void>) => void;
  /** the pod's newest version from the watch */
  readonly latest: (key: string) => SchedulablePod | undefined;
  readonly infoOf: (pod: SchedulablePod) => PodInfo;
}

/** How a pod that found no node is put back, and what its status reports. */
interface Failure extends StatusChange {
  readonly plugins: ReadonlySet<string>;
  readonly isError: boolean;
}

const NOBODY: ReadonlySet<string> = new Set();

/**
 * Takes one pod at a time from the queue, and binds it to a node or puts it back.
 *
 * Mirrors pkg/scheduler/schedule_one.go (scheduleOne, bind, handleSchedulingFailure).
 * Differs: the next pod waits until this one is bound, so that every run is the same, unless its volumes must be bound
 * first; upstream always binds in parallel with the next cycle.
 */
export class SchedulingCycle {
  readonly #deps: CycleDeps;
  readonly #algorithm: Algorithm;

  constructor(deps: CycleDeps) {
    this.#deps = deps;
    this.#algorithm = new Algorithm(deps.profile, deps.cache, deps.nominator, deps.random);
  }

  async scheduleOne(queued: QueuedPod): Promise<void> {
    const { info } = queued;
    if (isTerminating(info.pod)) return this.#skip(info);
    const { trace, profile } = this.#deps;
    const result = this.#algorithm.schedule(info);
    // The text costs more than the choice among a thousand nodes.
    if (!trace.wants(LEVELS.decision)) return this.#act(queued, result);
    const { id } = trace.emit(explain(profile, info.key, result), AS_SCHEDULER);
    await trace.because({ causedBy: id }, () => this.#act(queued, result));
  }

  async #act(queued: QueuedPod, result: ReturnType<Algorithm["schedule"]>): Promise<void> {
    if (result.outcome === "fits") return this.#bind(queued, result.nodeName);
    if (result.outcome === "no-fit") return this.#noFit(queued, result);
    const failure = {
      reason: "Unschedulable",
      message: NO_NODES,
      nominatedNodeName: "",
      plugins: NOBODY,
      isError: false,
    };
    await this.#fail(queued, failure);
  }

  #skip({ key, pod }: PodInfo): void {
    this.#deps.queue.delete(key);
    this.#warn(pod, `skip schedule deleting pod: ${key}`);
  }

  #warn(about: KubeObject, note: string): void {
    this.#deps.recorder.record({ about, type: "Warning", reason: "FailedScheduling", action: "Scheduling", note });
  }

  /** From here on the pod's resources are taken, even before the API server confirms the binding. */
  async #bind(queued: QueuedPod, nodeName: string): Promise<void> {
    const { cache, profile, inBackground } = this.#deps;
    const { info } = queued;
    const node = cache.node(nodeName);
    const plugins = node === undefined ? [] : profile.preBinds;
    const reservations = plugins.flatMap(({ name, reserve }) => {
      const reservation = node && reserve(info, node);
      return reservation === undefined ? [] : [{ name, reservation }];
    });
    cache.assumePod(info, nodeName);
    if (reservations.length === 0) return this.#bindNow(queued, nodeName);
    inBackground(async (signal) => {
      try {
        for (const { name, reservation } of reservations) {
          const why = await reservation.preBind(signal).then(() => undefined, messageOf);
          signal.throwIfAborted();
          if (why !== undefined) {
            return await this.#notBound(
              queued,
              `running PreBind plugin ${JSON.stringify(name)}: binding volumes: ${why}`,
            );
          }
        }
        await this.#bindNow(queued, nodeName);
      } finally {
        for (const { reservation } of reservations) reservation.release();
      }
    });
  }

  async #bindNow(queued: QueuedPod, nodeName: string): Promise<void> {
    const { queue, recorder, bind, nominator } = this.#deps;
    const { key, pod } = queued.info;
    try {
      await bind(pod, nodeName);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return this.#notBound(queued, `binding rejected: running Bind plugin "DefaultBinder": ${messageOf(error)}`);
    }
    queue.delete(key);
    nominator.remove(key);
    const note = `Successfully assigned ${key} to ${nodeName}`;
    recorder.record({ about: pod, type: "Normal", reason: "Scheduled", action: "Binding", note });
  }

  async #notBound(queued: QueuedPod, message: string): Promise<void> {
    const { cache, queue, latest, infoOf } = this.#deps;
    const { key, uid } = queued.info;
    cache.forgetPod(key);
    // The pod's resources are free again.
    queue.moveAll(["AssignedPodDelete"]);
    const pod = latest(key);
    if (pod === undefined || uidOf(pod) !== uid || nodeNameOf(pod) !== "") {
      queue.delete(key);
      return this.#warn(queued.info.pod, message);
    }
    queued.info = infoOf(pod);
    const failure = { reason: "SchedulerError", message, nominatedNodeName: "", plugins: NOBODY, isError: true };
    await this.#fail(queued, failure);
  }

  async #noFit(queued: QueuedPod, diagnosis: Diagnosis): Promise<void> {
    const { kubeVersion } = this.#deps;
    const result = preempt(this.#deps, queued.info, diagnosis);
    const plugins = new Set([...diagnosis.rejections.values()].map(({ plugin }) => plugin));
    const reason = "Unschedulable";
    const message = fitErrorMessage(diagnosis);
    if (result.outcome === "nominated") {
      const { nodeName, victims, violations } = result;
      await this.#fail(queued, { reason, message, nominatedNodeName: nodeName, plugins, isError: false });
      return this.#evictVictims(queued.info, nodeName, victims, violations);
    }
    // Since v1.34, the plugin DynamicResources adds its message too.
    const claims = factFor("dynamicResourceAllocation", kubeVersion) ? "no new claims to deallocate, " : "";
    const nominatedNodeName = result.keepsNomination ? undefined : "";
    const full = `${message} ${claims}${result.message}`;
    await this.#fail(queued, { reason, message: full, nominatedNodeName, plugins, isError: false });
  }

  /** Puts the pod back first, so that events during the writes find it in the queue. */
  async #fail(queued: QueuedPod, failure: Failure): Promise<void> {
    const { queue, nominator, clock, trace } = this.#deps;
    const { info, attempts } = queued;
    queue.putBack(queued, failure.plugins, failure.isError);
    if (failure.nominatedNodeName === "") nominator.remove(info.key);
    else if (failure.nominatedNodeName !== undefined) nominator.nominate(info, failure.nominatedNodeName);
    if (attempts === 1) this.#explainWait(info, failure);
    this.#warn(info.pod, failure.message);
    try {
      await this.#patchStatus(info, (pod) => withSchedulingFailure(pod, failure, clock.now()));
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      const message = `the status of ${info.key} was not written: ${messageOf(error)}`;
      trace.emit({ kind: "error", message, hint: "the next attempt writes it" }, AS_SCHEDULER);
    }
  }

  #explainWait({ key }: PodInfo, { isError, plugins }: Failure): void {
    const { trace, kubeVersion } = this.#deps;
    const names = [...plugins].join(", ");
    const why = isError
      ? "a temporary error: it is tried again after a back-off"
      : `it waits for an event${names === "" ? "" : ` that can change the result of ${names}`}`;
    const constants = isError
      ? constantsFor(kubeVersion, "podInitialBackoff", "podMaxBackoff")
      : constantsFor(kubeVersion, "podInitialBackoff", "podMaxBackoff", "podMaxInUnschedulablePods");
    const upstream = { file: "pkg/scheduler/schedule_one.go", func: "handleSchedulingFailure" };
    trace.emit({ kind: "decision", what: `put ${key} back into the queue`, why, constants, upstream }, AS_SCHEDULER);
  }

  /** Mirrors prepareCandidate: deletes the victims, and clears the nominations of pods with lower priority. */
  async #evictVictims(
    preemptor: PodInfo,
    nodeName: string,
    victims: readonly PodInfo[],
    violations: number,
  ): Promise<void> {
    const { recorder, nominator, trace, kubeVersion } = this.#deps;
    const names = victims.map(({ key }) => key).join(", ");
    const but = violations === 0 ? "" : `, though disruption budgets do not allow ${violations} of them`;
    const why = `${preemptor.key} has priority ${priorityOf(preemptor.pod)}, and fits on ${nodeName} without the victims${but}`;
    const upstream = { file: "pkg/scheduler/framework/preemption/preemption.go", func: "prepareCandidate" };
    trace.emit({ kind: "decision", what: `preempt ${names}`, why, upstream }, AS_SCHEDULER);
    for (const victim of victims) {
      if (!(await this.#evict(victim))) continue;
      const whom = { "the pod": ` ${preemptor.key}`, "a pod": " a pod", "its uid": ` pod ${preemptor.uid}` };
      const note = `Preempted by${whom[factFor("preemptedNote", kubeVersion)]} on node ${nodeName}`;
      const event = { type: "Normal", reason: "Preempted", action: "Preempting", note } as const;
      recorder.record({ about: victim.pod, related: preemptor.pod, ...event });
    }
    for (const other of nominator.on(nodeName)) {
      if (priorityOf(other.pod) < priorityOf(preemptor.pod)) await this.#clearNomination(other);
    }
  }

  /** @returns false if the pod is gone already or cannot be deleted */
  async #evict(victim: PodInfo): Promise<boolean> {
    const { client, clock, trace, kubeVersion } = this.#deps;
    const { key, pod } = victim;
    const { namespace, uid } = pod.metadata;
    try {
      if (factFor("podDisruptionConditions", kubeVersion)) {
        await this.#patchStatus(victim, (now) => withDisruptionTarget(now, DEFAULT_SCHEDULER, clock.now()));
      }
      const preconditions = uid === undefined ? {} : { uid };
      return await client.delete("pods", namespace, nameOf(pod), { preconditions });
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      trace.emit({ kind: "error", message: `${key} was not preempted: ${messageOf(error)}` }, AS_SCHEDULER);
      return false;
    }
  }

  async #clearNomination(info: PodInfo): Promise<void> {
    this.#deps.nominator.remove(info.key);
    await this.#patchStatus(info, withoutNomination);
  }

  /** A patch overwrites nothing that the kubelet or a controller writes meanwhile. Mirrors PatchPodStatus in util/utils.go. */
  async #patchStatus({ key, uid, pod }: PodInfo, change: (pod: SchedulablePod) => SchedulablePod): Promise<void> {
    const { client, latest } = this.#deps;
    const before = latest(key) ?? pod;
    if (uidOf(before) !== uid) return;
    const body = statusPatch(before, change(before));
    if (body === undefined) return;
    await client.patch("pods", pod.metadata.namespace, nameOf(pod), STRATEGIC_MERGE, body, "status");
  }
}
