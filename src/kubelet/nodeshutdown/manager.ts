import {
  replaceOrAppend,
  type V1Pod,
  type V1PodCondition,
  type V1PodStatus,
} from "../../staging/apimachinery/api/pod.js";
import type { Trace } from "../../trace/trace.js";
import { ChildAbort } from "../../util/async/abort.js";
import { orAborted } from "../../util/async/concurrency.js";
import type { Clock } from "../../util/clock.js";
import { factFor } from "../../util/release/facts.js";
import type { PodAdmitHandler, PodAdmitResult } from "../lifecycle/admit.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import type { PodStatusFunc } from "../podworkers/update.js";
import { groupByPriority, type ShutdownGroup, type ShutdownPeriod } from "./groups.js";
import { NodeShutdownObserver } from "./node-shutdown-observer.js";

/** Mirrors nodeShutdownReason and nodeShutdownMessage. */
const REASON = "Terminated";
const MESSAGE = "Pod was terminated in response to imminent node shutdown.";
/** Mirrors nodeShutdownNotAdmittedReason and nodeShutdownNotAdmittedMessage. */
const NOT_ADMITTED = {
  admit: false,
  reason: "NodeShutdown",
  message: "Pod was rejected as the node is shutting down.",
} as const;

/** How long the last statuses may take, and how often they are tried. */
const STATUS_PATIENCE_MS = 5_000;
const STATUS_RETRY_MS = 100;

export interface NodeShutdownDeps {
  readonly getActivePods: () => readonly V1Pod[];
  /** ends a pod, and waits until none of its containers runs. @throws Error when that takes too long */
  readonly killPod: (
    pod: V1Pod,
    gracePeriodSeconds: number,
    statusFunc: PodStatusFunc,
    signal: AbortSignal,
  ) => Promise<void>;
  readonly agent: { recordEvent(type: "Normal" | "Warning", reason: string, message: string): void };
  /** writes the statuses of pods that have ended. @returns the pods that still run, or whose status could not be written */
  readonly writeStatuses: (pods: readonly V1Pod[], signal: AbortSignal) => Promise<readonly V1Pod[]>;
  /** writes the node's status at once: it is not ready any more */
  readonly syncNodeStatus: (signal: AbortSignal) => Promise<unknown>;
  readonly clock: Clock;
  readonly trace: Trace;
  readonly metrics?: Pick<KubeletMetrics, "set">;
}

/**
 * Ends the node's pods before the node ends: those of the lowest priority first, each group within its own time.
 *
 * Mirrors managerImpl in pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go.
 * Differs: the shutdown is SIGTERM to this program, because nothing here inhibits the machine's logind.
 */
export class NodeShutdownManager implements PodAdmitHandler {
  #isShuttingDown = false;

  constructor(
    readonly deps: NodeShutdownDeps,
    readonly options: { readonly periods: readonly ShutdownPeriod[]; readonly kubeVersion: string },
    readonly observer = new NodeShutdownObserver(deps.trace),
  ) {}

  /** Whether a shutdown waits for pods. */
  get isEnabled(): boolean {
    return this.options.periods.some(({ gracePeriodSeconds }) => gracePeriodSeconds > 0);
  }

  /** Why the node is not ready; empty if it does not shut down. Mirrors ShutdownStatus. */
  problems(): string[] {
    return this.#isShuttingDown ? ["node is shutting down"] : [];
  }

  /** Mirrors Admit. */
  async admit(): Promise<PodAdmitResult> {
    return this.#isShuttingDown ? NOT_ADMITTED : { admit: true };
  }

  /** Ends the pods. Resolves when all have ended, or their time is over. @throws the signal's reason */
  async shutDown(signal: AbortSignal): Promise<void> {
    const { agent, syncNodeStatus } = this.deps;
    if (!this.isEnabled || this.#isShuttingDown) return;
    this.#isShuttingDown = true;
    agent.recordEvent("Normal", "NodeShutdown", "Shutdown manager detected shutdown event");
    await this.observer.shuttingDown(async () => {
      const [groups] = await Promise.all([
        groupByPriority(this.options.periods, this.deps.getActivePods()),
        syncNodeStatus(signal),
      ]);
      this.#note("kubelet_graceful_shutdown_start_time_seconds");
      for (const group of groups) await this.#endGroup(group, signal);
      const pods = groups.flatMap((group) => group.pods);
      await this.#writeStatuses(pods, signal);
      this.#note("kubelet_graceful_shutdown_end_time_seconds");
      this.observer.completed();
    });
  }

  /** Without this, the process would end before its last pods are `Failed` in the API. Upstream leaves it to the time that is left. */
  async #writeStatuses(pods: readonly V1Pod[], signal: AbortSignal): Promise<void> {
    const { clock, writeStatuses } = this.deps;
    using limit = new ChildAbort(signal);
    const over = clock.sleep(STATUS_PATIENCE_MS, limit.signal).then(() => limit.abort());
    over.catch(() => {});
    let left = pods;
    try {
      while (left.length > 0) {
        left = await orAborted(writeStatuses(left, limit.signal), limit.signal);
        if (left.length > 0) await clock.sleep(STATUS_RETRY_MS, limit.signal);
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!limit.signal.aborted) throw error;
      this.observer.statusesNotWritten(left, STATUS_PATIENCE_MS);
    } finally {
      limit.abort();
    }
  }

  #note(name: "kubelet_graceful_shutdown_start_time_seconds" | "kubelet_graceful_shutdown_end_time_seconds"): void {
    this.deps.metrics?.set(name, this.deps.clock.now() / 1000);
  }

  async #endGroup(group: ShutdownGroup, signal: AbortSignal): Promise<void> {
    const { gracePeriodSeconds, pods } = group;
    // Nothing waits for a range of priorities without pods.
    if (pods.length === 0) return;
    const { clock } = this.deps;
    this.observer.endsGroup(group);
    using timer = new ChildAbort(signal);
    const over = clock.sleep(gracePeriodSeconds * 1000, timer.signal).then(() => false);
    const all = Promise.all(pods.map((pod) => this.#endPod(pod, gracePeriodSeconds, signal))).then(() => true);
    const hasEnded = await Promise.race([all, over]);
    timer.abort();
    over.catch(() => {});
    all.catch(() => {});
    if (!hasEnded) this.observer.groupTimedOut(group);
  }

  async #endPod(pod: V1Pod, groupSeconds: number, signal: AbortSignal): Promise<void> {
    const own = pod.spec.terminationGracePeriodSeconds ?? Number.POSITIVE_INFINITY;
    try {
      await this.deps.killPod(pod, Math.min(own, groupSeconds), (status) => this.#terminated(status), signal);
    } catch (error) {
      signal.throwIfAborted();
      this.observer.killFailed(pod, error);
    }
  }

  #terminated(status: V1PodStatus): V1PodStatus {
    const ended = { ...status, phase: "Failed", reason: REASON, message: MESSAGE } as const;
    if (!factFor("podDisruptionConditions", this.options.kubeVersion)) return ended;
    const reason = "TerminationByKubelet";
    const condition: V1PodCondition = { type: "DisruptionTarget", status: "True", reason, message: MESSAGE };
    return { ...ended, conditions: replaceOrAppend(status.conditions ?? [], condition) };
  }
}
