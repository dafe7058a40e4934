import type {
  V2HorizontalPodAutoscalerBehavior,
  V2HorizontalPodAutoscalerCondition,
  V2HPAScalingPolicy,
  V2HPAScalingRules,
} from "@kubernetes/client-node";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import type { ScalingHistory } from "./scaling-history.js";

/** From what the metrics ask for to what is done. Mirrors pkg/controller/podautoscaler/horizontal.go. */

type Behavior = Wire<V2HorizontalPodAutoscalerBehavior>;
type Rules = Wire<V2HPAScalingRules>;
type Policy = Wire<V2HPAScalingPolicy>;

/** A condition without its time. */
export type NewCondition = Omit<Wire<V2HorizontalPodAutoscalerCondition>, "lastTransitionTime">;

/** Without a behavior, no recommendation of this time is undercut. Mirrors …-downscale-stabilization. */
const DOWNSCALE_STABILIZATION_MS = 5 * 60_000;
/** Without a behavior, the pods at most double at once, or grow to four. */
const SCALE_UP_LIMIT_FACTOR = 2;
const SCALE_UP_LIMIT_MINIMUM = 4;

export interface NormalizationArg {
  readonly minReplicas: number;
  readonly maxReplicas: number;
  readonly currentReplicas: number;
  /** what the metrics ask for */
  readonly desiredReplicas: number;
  readonly history: ScalingHistory;
  readonly nowMs: number;
}

export interface Normalized {
  readonly replicas: number;
  /** AbleToScale and ScalingLimited */
  readonly conditions: readonly NewCondition[];
  /** what changed the count, in words; empty: nothing did */
  readonly steps: readonly string[];
}

/** The result of a limit: its condition's reason and message. */
interface Limited {
  readonly replicas: number;
  readonly reason: string;
  readonly message: string;
}

const TOO_FEW = {
  reason: "TooFewReplicas",
  message: "the desired replica count is less than the minimum replica count",
} as const;
const TOO_MANY = {
  reason: "TooManyReplicas",
  message: "the desired replica count is more than the maximum replica count",
} as const;
const SCALE_UP_LIMIT = {
  reason: "ScaleUpLimit",
  message: "the desired replica count is increasing faster than the maximum scale rate",
} as const;
const SCALE_DOWN_LIMIT = {
  reason: "ScaleDownLimit",
  message: "the desired replica count is decreasing faster than the maximum scale rate",
} as const;
const WITHIN_RANGE = {
  reason: "DesiredWithinRange",
  message: "the desired count is within the acceptable range",
} as const;
const DOWN_STABILIZED = {
  reason: "ScaleDownStabilized",
  message: "recent recommendations were higher than current one, applying the highest recent recommendation",
} as const;
const UP_STABILIZED = {
  reason: "ScaleUpStabilized",
  message: "recent recommendations were lower than current one, applying the lowest recent recommendation",
} as const;
const READY = { reason: "ReadyForNewScale", message: "recommended size matches current size" } as const;

/** For an autoscaler without a behavior. Mirrors normalizeDesiredReplicas and stabilizeRecommendation. */
export function normalizeDesiredReplicas(arg: NormalizationArg): Normalized {
  const { desiredReplicas, history, nowMs } = arg;
  const stabilized = Math.max(desiredReplicas, ...history.recommendedSince(nowMs - DOWNSCALE_STABILIZATION_MS));
  history.recommended(desiredReplicas, nowMs);
  return normalized(arg, stabilized, DOWN_STABILIZED, convertDesiredReplicasWithRules(arg, stabilized));
}

/** Mirrors normalizeDesiredReplicasWithBehaviors. */
export function normalizeDesiredReplicasWithBehaviors(arg: NormalizationArg, behavior: Behavior): Normalized {
  const { currentReplicas, desiredReplicas, history, nowMs } = arg;
  const stabilized = stabilizeRecommendationWithBehaviors(arg, behavior);
  history.recommended(desiredReplicas, nowMs);
  const why = desiredReplicas >= currentReplicas ? UP_STABILIZED : DOWN_STABILIZED;
  return normalized(arg, stabilized, why, convertDesiredReplicasWithBehaviorRate(arg, stabilized, behavior));
}

function normalized(
  { desiredReplicas }: NormalizationArg,
  stabilized: number,
  whyStabilized: Omit<Limited, "replicas">,
  { replicas, reason, message }: Limited,
): Normalized {
  const isStabilized = stabilized !== desiredReplicas;
  const isLimited = replicas !== stabilized;
  return {
    replicas,
    conditions: [
      { type: "AbleToScale", status: "True", ...(isStabilized ? whyStabilized : READY) },
      { type: "ScalingLimited", status: isLimited ? "True" : "False", reason, message },
    ],
    steps: [
      ...(isStabilized ? [`${whyStabilized.reason}: ${desiredReplicas} -> ${stabilized}`] : []),
      ...(isLimited ? [`${reason}: ${stabilized} -> ${replicas}`] : []),
    ],
  };
}

/** Mirrors convertDesiredReplicasWithRules. */
function convertDesiredReplicasWithRules(arg: NormalizationArg, desired: number): Limited {
  const { currentReplicas, minReplicas, maxReplicas } = arg;
  const scaleUpLimit = Math.max(SCALE_UP_LIMIT_FACTOR * currentReplicas, SCALE_UP_LIMIT_MINIMUM);
  const [most, why] = maxReplicas > scaleUpLimit ? [scaleUpLimit, SCALE_UP_LIMIT] : [maxReplicas, TOO_MANY];
  if (desired < minReplicas) return { replicas: minReplicas, ...TOO_FEW };
  if (desired > most) return { replicas: most, ...why };
  return { replicas: desired, ...WITHIN_RANGE };
}

/**
 * Within the recommendations of both windows: no more than the lowest of the one for scaling up, no fewer than the highest of the
 * one for scaling down. Mirrors stabilizeRecommendationWithBehaviors.
 */
function stabilizeRecommendationWithBehaviors(arg: NormalizationArg, { scaleUp, scaleDown }: Behavior): number {
  const { currentReplicas, desiredReplicas, history, nowMs } = arg;
  const recent = (windowMs: number) => history.recommendedAfter(nowMs - windowMs);
  const lowest = Math.min(desiredReplicas, ...recent(windowMsOf(scaleUp, 0)));
  const highest = Math.max(desiredReplicas, ...recent(windowMsOf(scaleDown, DOWNSCALE_STABILIZATION_MS)));
  return Math.min(Math.max(currentReplicas, lowest), highest);
}

function windowMsOf(rules: Rules | undefined, defaultMs: number): number {
  const { stabilizationWindowSeconds } = rules ?? {};
  return typeof stabilizationWindowSeconds === "number" ? stabilizationWindowSeconds * 1000 : defaultMs;
}

/** Mirrors convertDesiredReplicasWithBehaviorRate. */
function convertDesiredReplicasWithBehaviorRate(arg: NormalizationArg, desired: number, behavior: Behavior): Limited {
  const { currentReplicas, minReplicas, maxReplicas } = arg;
  if (desired > currentReplicas) {
    const scaleUpLimit = Math.max(scaleLimit(arg, behavior.scaleUp, 1), currentReplicas);
    const [most, why] = maxReplicas > scaleUpLimit ? [scaleUpLimit, SCALE_UP_LIMIT] : [maxReplicas, TOO_MANY];
    if (desired > most) return { replicas: most, ...why };
  } else if (desired < currentReplicas) {
    const scaleDownLimit = Math.min(scaleLimit(arg, behavior.scaleDown, -1), currentReplicas);
    const [least, why] = minReplicas < scaleDownLimit ? [scaleDownLimit, SCALE_DOWN_LIMIT] : [minReplicas, TOO_FEW];
    if (desired < least) return { replicas: least, ...why };
  }
  return { replicas: desired, ...WITHIN_RANGE };
}

/**
 * The count that the policies allow by now: each one limits the change since the begin of its period.
 * Mirrors calculateScaleUpLimitWithScalingRules and calculateScaleDownLimitWithBehaviors.
 * @param sign 1: up, -1: down
 */
function scaleLimit({ currentReplicas, history, nowMs }: NormalizationArg, rules: Rules | undefined, sign: 1 | -1) {
  const { selectPolicy = "Max", policies } = rules ?? {};
  if (selectPolicy === "Disabled") return currentReplicas;
  const limits = (policies ?? []).map((policy) => {
    const before = currentReplicas - history.changeAfter(nowMs - policy.periodSeconds * 1000);
    return before + sign * allowedChange(policy, before, sign);
  });
  // The largest change is the highest count on the way up, and the lowest on the way down.
  return (selectPolicy === "Min") === (sign === 1) ? Math.min(...limits) : Math.max(...limits);
}

/** A percentage is rounded up in both directions, so that the smallest one still changes something. */
function allowedChange({ type, value }: Policy, before: number, sign: 1 | -1): number {
  if (type === "Pods") return value;
  const scaled = before * (1 + (sign * value) / 100);
  return sign === 1 ? Math.ceil(scaled) - before : before - Math.trunc(scaled);
}
