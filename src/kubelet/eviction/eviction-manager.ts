import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Clock } from "../../util/clock.js";
import { messageOf } from "../../util/errors.js";
import { factFor } from "../../util/release/facts.js";
import type { Summary } from "../apis/stats/v1alpha1.js";
import type { PodAdmitAttributes, PodAdmitHandler, PodAdmitResult } from "../lifecycle/admit.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import { podText } from "../types/pod-update.js";
import { admitUnderPressure } from "./admit.js";
import { type EvictPodDeps, evictPod } from "./evict-pod.js";
import { EvictionMetrics } from "./eviction-metrics.js";
import { localStorageProblem } from "./local-storage.js";
import { evictionMessage } from "./message.js";
import { makeSignalObservations, type Observations } from "./observations.js";
import { rankPods, type StatsFunc } from "./ranking.js";
import { EvictionReporter } from "./reporter.js";
import { isHard, type PressureCondition, resourceOf, type Threshold } from "./threshold.js";
import {
  type ConditionsObservedAt,
  mergeThresholds,
  nodeConditions,
  nodeConditionsLastObservedAt,
  nodeConditionsObservedSince,
  type ThresholdsObservedAt,
  thresholdsFirstObservedAt,
  thresholdsMet,
  thresholdsMetGracePeriod,
  thresholdsUpdatedStats,
  thresholdToReclaim,
} from "./thresholds-met.js";

const MEASURE = { what: "measure for evictions", setBy: "monitoringInterval" };

/** How long the manager waits for an evicted pod to be cleaned up, and how often it looks. */
const POD_CLEANUP_TIMEOUT_MS = 30_000;
const POD_CLEANUP_POLL_MS = 1_000;

export interface EvictionManagerDeps extends EvictPodDeps {
  /** @throws when the runtime reports no statistics */
  readonly summaryProvider: { get(updateStats: boolean, signal: AbortSignal): Promise<Summary> };
  /** whether images have a disk of their own. @throws when that is not known yet */
  readonly hasDedicatedImageFs: (signal: AbortSignal) => Promise<boolean>;
  readonly imageGc: { deleteUnusedImages(signal: AbortSignal): Promise<void> };
  readonly containerGc: { deleteAllUnusedContainers(signal: AbortSignal): Promise<void> };
  /** admitted, and not terminated */
  readonly getActivePods: () => readonly V1Pod[];
  /** nothing of an evicted pod is left on the node */
  readonly podIsCleanedUp: (pod: V1Pod) => boolean;
  readonly agent: { recordEvent(type: "Normal" | "Warning", reason: string, message: string): void };
  readonly clock: Clock;
  /** default: `rankPods` of ranking.ts */
  readonly rankPods?: typeof rankPods;
  readonly metrics?: KubeletMetrics;
}

/** Mirrors Config in pkg/kubelet/eviction/types.go. */
export interface EvictionConfig {
  readonly thresholds: readonly Threshold[];
  /** how long a condition stays after its last observation */
  readonly pressureTransitionPeriodMs: number;
  /** grace period of pods that a soft threshold evicts, in seconds */
  readonly maxPodGracePeriodSeconds: number;
  /** pods are held to their limits of local storage */
  readonly isolatesLocalStorage: boolean;
  readonly kubeVersion: string;
}

/**
 * Keeps the node from running out of memory, disk and processes: it reports pressure, removes what nothing uses, and then evicts one
 * pod at a time, until the thresholds are no longer met.
 *
 * Mirrors managerImpl in pkg/kubelet/eviction/eviction_manager.go.
 * Differs: without memory cgroup notifications, which are off by default upstream.
 */
export class EvictionManager implements PodAdmitHandler {
  #conditions: readonly PressureCondition[] = [];
  #conditionsObservedAt: ConditionsObservedAt = new Map();
  #firstObservedAt: ThresholdsObservedAt = new Map();
  #thresholdsMet: readonly Threshold[] = [];
  #lastObservations: Observations = new Map();
  #hasDedicatedImageFs: boolean | undefined;
  readonly #reporter: EvictionReporter;
  readonly #metrics: EvictionMetrics;

  constructor(
    readonly deps: EvictionManagerDeps,
    readonly config: EvictionConfig,
  ) {
    this.#reporter = new EvictionReporter(deps.trace);
    this.#metrics = new EvictionMetrics(deps.metrics);
  }

  /** The conditions that the node reports. Mirrors IsUnderMemoryPressure, IsUnderDiskPressure and IsUnderPIDPressure. */
  get conditions(): readonly PressureCondition[] {
    return this.#conditions;
  }

  async admit({ pod }: PodAdmitAttributes): Promise<PodAdmitResult> {
    return admitUnderPressure(this.#conditions, pod);
  }

  /** Checks every 10 s, starting at once; after an eviction, as soon as the pod is cleaned up. Mirrors Start. @throws the signal's reason */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, trace } = this.deps;
    const periodMs = factFor("evictionMonitoringPeriod", this.config.kubeVersion);
    const round = async () => {
      const evicted = await this.synchronize(signal);
      if (evicted.length === 0) await clock.sleep(periodMs, signal, MEASURE);
      else await this.#waitForPodsCleanup(evicted, signal);
    };
    for (;;) await trace.origin("timer", round);
  }

  /**
   * Compares what is measured with the thresholds, and acts.
   * @returns the pods that were evicted. @throws the signal's reason
   */
  async synchronize(signal: AbortSignal): Promise<readonly V1Pod[]> {
    const { thresholds: configured, isolatesLocalStorage } = this.config;
    if (configured.length === 0 && !isolatesLocalStorage) return [];
    const measured = await this.#measure(signal);
    if (measured === undefined) return [];
    const { summary, observations, hasDedicatedImageFs } = measured;
    const activePods = this.deps.getActivePods();
    const podStats = new Map(summary.pods.map((stats) => [stats.podRef.uid, stats]));
    const statsOf: StatsFunc = ({ metadata }) => podStats.get(metadata.uid);
    const thresholds = this.#observe(observations);

    const overLimit = await this.#localStorageEviction(activePods, statsOf, hasDedicatedImageFs, signal);
    if (overLimit.length > 0) return overLimit;
    const threshold = thresholdToReclaim(thresholds);
    if (threshold === undefined) return [];

    const resource = resourceOf(threshold.signal);
    this.deps.agent.recordEvent("Warning", "EvictionThresholdMet", `Attempting to reclaim ${resource}`);
    if (await this.#reclaimNodeLevelResources(threshold, hasDedicatedImageFs, signal)) return [];
    const rank = this.deps.rankPods ?? rankPods;
    const ranked = rank(threshold.signal, hasDedicatedImageFs, activePods, statsOf);
    this.#reporter.ranked(ranked, resource);
    if (ranked.length > 0) this.#metrics.actsOn(thresholds, observations, this.deps.clock.now());
    const { kubeVersion, maxPodGracePeriodSeconds } = this.config;
    const immediately = factFor("immediateEvictionGracePeriod", kubeVersion);
    const gracePeriodSeconds = isHard(threshold) ? immediately : maxPodGracePeriodSeconds;
    for (const { pod } of ranked) {
      const why = evictionMessage(resource, pod, statsOf(pod), { threshold, observations }, kubeVersion);
      const options = { ...why, gracePeriodSeconds, isDisruption: true, kubeVersion };
      if (!(await evictPod(this.deps, pod, options, signal))) continue;
      this.#metrics.evicted(threshold.signal);
      return [pod];
    }
    this.#reporter.nothingToEvict(resource, ranked.length);
    return [];
  }

  async #measure(signal: AbortSignal) {
    try {
      this.#hasDedicatedImageFs ??= await this.deps.hasDedicatedImageFs(signal);
      const summary = await this.deps.summaryProvider.get(true, signal);
      this.#reporter.measured();
      const observations = makeSignalObservations(summary);
      return { summary, observations, hasDedicatedImageFs: this.#hasDedicatedImageFs };
    } catch (error) {
      signal.throwIfAborted();
      this.#reporter.notMeasured(messageOf(error));
      return undefined;
    }
  }

  /** Notes which thresholds are met, and the conditions. @returns those to act on: met for their grace period, and measured again since */
  #observe(observations: Observations): Threshold[] {
    const { thresholds: configured, pressureTransitionPeriodMs } = this.config;
    const nowMs = this.deps.clock.now();
    const unresolved = thresholdsMet(this.#thresholdsMet, observations, true);
    const met = mergeThresholds(thresholdsMet(configured, observations, false), unresolved);
    const firstObservedAt = thresholdsFirstObservedAt(met, this.#firstObservedAt, nowMs);
    this.#reporter.observed(configured, firstObservedAt, this.#firstObservedAt, observations);
    const observedAt = nodeConditionsLastObservedAt(nodeConditions(met), this.#conditionsObservedAt, nowMs);
    const conditions = nodeConditionsObservedSince(observedAt, pressureTransitionPeriodMs, nowMs);
    this.#reporter.conditions(this.#conditions, conditions, pressureTransitionPeriodMs);
    const due = thresholdsMetGracePeriod(firstObservedAt, nowMs);
    const updated = thresholdsUpdatedStats(due, observations, this.#lastObservations);
    this.#conditions = conditions;
    this.#conditionsObservedAt = observedAt;
    this.#firstObservedAt = firstObservedAt;
    this.#thresholdsMet = due;
    this.#lastObservations = observations;
    return updated;
  }

  /** Evicts every pod that exceeds its own limits of local storage, whatever is free on the node. */
  async #localStorageEviction(
    pods: readonly V1Pod[],
    statsOf: StatsFunc,
    hasDedicatedImageFs: boolean,
    signal: AbortSignal,
  ): Promise<readonly V1Pod[]> {
    const { kubeVersion, isolatesLocalStorage } = this.config;
    if (!isolatesLocalStorage) return [];
    const gracePeriodSeconds = factFor("immediateEvictionGracePeriod", kubeVersion);
    const evicted: V1Pod[] = [];
    for (const pod of pods) {
      const stats = statsOf(pod);
      const problem = stats && localStorageProblem(pod, stats, hasDedicatedImageFs);
      if (problem === undefined) continue;
      const options = {
        message: problem.message,
        annotations: {},
        gracePeriodSeconds,
        isDisruption: false,
        kubeVersion,
      };
      if (!(await evictPod(this.deps, pod, options, signal))) continue;
      this.#metrics.evicted(problem.signal);
      evicted.push(pod);
    }
    return evicted;
  }

  /**
   * Mirrors reclaimNodeLevelResources and buildSignalToNodeReclaimFuncs.
   * @returns whether this was enough: no threshold is met any more, minimum reclaims included
   */
  async #reclaimNodeLevelResources(
    { signal: starved }: Threshold,
    hasDedicatedImageFs: boolean,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { containerGc, imageGc, summaryProvider } = this.deps;
    const isNodeFs = starved.startsWith("nodefs.");
    const canReclaim = starved.startsWith("imagefs.") || (isNodeFs && !hasDedicatedImageFs);
    if (!canReclaim) return false;
    const resource = resourceOf(starved);
    for (const reclaim of [
      () => containerGc.deleteAllUnusedContainers(signal),
      () => imageGc.deleteUnusedImages(signal),
    ]) {
      try {
        await reclaim();
      } catch (error) {
        signal.throwIfAborted();
        this.#reporter.notReclaimed(resource, messageOf(error));
      }
    }
    try {
      const observations = makeSignalObservations(await summaryProvider.get(true, signal));
      const isEnough = thresholdsMet(this.config.thresholds, observations, true).length === 0;
      this.#reporter.reclaimed(resource, isEnough);
      return isEnough;
    } catch (error) {
      signal.throwIfAborted();
      this.#reporter.notMeasured(messageOf(error));
      return false;
    }
  }

  /** Waits at most 30 s, so that the next measurement is without the evicted pods. */
  async #waitForPodsCleanup(pods: readonly V1Pod[], signal: AbortSignal): Promise<void> {
    const { clock, podIsCleanedUp } = this.deps;
    const names = pods.map(podText).join(", ");
    for (let waitedMs = 0; waitedMs < POD_CLEANUP_TIMEOUT_MS; waitedMs += POD_CLEANUP_POLL_MS) {
      await clock.sleep(POD_CLEANUP_POLL_MS, signal);
      if (!pods.every(podIsCleanedUp)) continue;
      this.#reporter.cleanedUp(names);
      return;
    }
    this.#reporter.notCleanedUp(names);
  }
}
