import type { Observations } from "./observations.js";
import { conditionOf, type PressureCondition, type Threshold, thresholdAmount, thresholdText } from "./threshold.js";

/**
 * Which thresholds are met, since when, and which conditions of the node follow. All pure.
 *
 * Mirrors pkg/kubelet/eviction/helpers.go.
 */

/** When each threshold that is met now was first met. Mirrors thresholdsObservedAt. */
export type ThresholdsObservedAt = ReadonlyMap<string, { readonly threshold: Threshold; readonly atMs: number }>;

/** When each condition was last observed. Mirrors nodeConditionsObservedAt. */
export type ConditionsObservedAt = ReadonlyMap<PressureCondition, number>;

/** Two thresholds with this key are the same one. Mirrors hasThreshold. */
function keyOf({ signal, value, gracePeriodMs }: Threshold): string {
  return `${signal}<${thresholdText(value)} for ${gracePeriodMs}`;
}

/**
 * Mirrors thresholdsMet.
 * @param enforceMinReclaim a threshold stays met until its minimum reclaim is free as well
 */
export function thresholdsMet(
  thresholds: readonly Threshold[],
  observations: Observations,
  enforceMinReclaim: boolean,
): Threshold[] {
  return thresholds.filter(({ signal, value, minReclaim }) => {
    const observed = observations.get(signal);
    if (observed === undefined) return false;
    const { available, capacity } = observed;
    const more = enforceMinReclaim && minReclaim !== undefined ? thresholdAmount(minReclaim, capacity) : 0;
    return thresholdAmount(value, capacity) + more > available;
  });
}

/** Mirrors mergeThresholds. */
export function mergeThresholds(thresholds: readonly Threshold[], more: readonly Threshold[]): Threshold[] {
  const known = new Set(thresholds.map(keyOf));
  return [...thresholds, ...more.filter((threshold) => !known.has(keyOf(threshold)))];
}

/** Mirrors thresholdsFirstObservedAt: a threshold that was met before keeps its time. */
export function thresholdsFirstObservedAt(
  thresholds: readonly Threshold[],
  before: ThresholdsObservedAt,
  nowMs: number,
): ThresholdsObservedAt {
  return new Map(
    thresholds.map((threshold) => {
      const key = keyOf(threshold);
      return [key, { threshold, atMs: before.get(key)?.atMs ?? nowMs }] as const;
    }),
  );
}

/** Mirrors thresholdsMetGracePeriod. */
export function thresholdsMetGracePeriod(observedAt: ThresholdsObservedAt, nowMs: number): Threshold[] {
  const met = [...observedAt.values()].filter(({ threshold, atMs }) => nowMs - atMs >= threshold.gracePeriodMs);
  return met.map(({ threshold }) => threshold);
}

/** Those whose signal was measured since the last synchronization. Mirrors thresholdsUpdatedStats. */
export function thresholdsUpdatedStats(
  thresholds: readonly Threshold[],
  observations: Observations,
  last: Observations,
): Threshold[] {
  return thresholds.filter(({ signal }) => {
    const observed = observations.get(signal);
    if (observed === undefined) return false;
    const before = last.get(signal);
    if (before === undefined || observed.timeMs === undefined) return true;
    return observed.timeMs > (before.timeMs ?? Number.NEGATIVE_INFINITY);
  });
}

/** The conditions that the thresholds stand for, each once. Mirrors nodeConditions. */
export function nodeConditions(thresholds: readonly Threshold[]): PressureCondition[] {
  return [...new Set(thresholds.map(({ signal }) => conditionOf(signal)))];
}

/** Mirrors nodeConditionsLastObservedAt. */
export function nodeConditionsLastObservedAt(
  conditions: readonly PressureCondition[],
  before: ConditionsObservedAt,
  nowMs: number,
): ConditionsObservedAt {
  return new Map([...before, ...conditions.map((condition) => [condition, nowMs] as const)]);
}

/** The conditions observed within the transition period: they are reported. Mirrors nodeConditionsObservedSince. */
export function nodeConditionsObservedSince(
  observedAt: ConditionsObservedAt,
  periodMs: number,
  nowMs: number,
): PressureCondition[] {
  return [...observedAt].filter(([, atMs]) => nowMs - atMs < periodMs).map(([condition]) => condition);
}

/**
 * The threshold to act on: memory before everything else.
 * Mirrors byEvictionPriority and getReclaimableThreshold.
 */
export function thresholdToReclaim(thresholds: readonly Threshold[]): Threshold | undefined {
  return thresholds.find(({ signal }) => conditionOf(signal) === "MemoryPressure") ?? thresholds[0];
}
