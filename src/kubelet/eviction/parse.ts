import { signOfQuantity, storedQuantity } from "../../apimachinery/quantity.js";
import { parseGoDuration } from "../../apimachinery/time.js";
import { isHard, isSignal, type Signal, type Threshold, type ThresholdValue } from "./threshold.js";

/** By signal, as the kubelet's configuration has them: `{ "memory.available": "100Mi" }`. */
type Statements = Readonly<Record<string, string>>;

/** The eviction fields of a KubeletConfiguration. */
export interface EvictionStatements {
  readonly evictionHard?: Statements;
  readonly evictionSoft?: Statements;
  /** Go durations: `1m30s` */
  readonly evictionSoftGracePeriod?: Statements;
  readonly evictionMinimumReclaim?: Statements;
  readonly enforceNodeAllocatable?: readonly string[];
}

/** A statement is wrong; the message is upstream's. */
class ThresholdError extends Error {
  override readonly name = "ThresholdError";
}

/**
 * The thresholds, the hard ones first. One for `allocatableMemory.available` is added to each hard one for
 * `memory.available` if the limits of all pods together are enforced (`enforceNodeAllocatable: [pods]`).
 *
 * Mirrors ParseThresholdConfig and addAllocatableThresholds in pkg/kubelet/eviction/helpers.go. Pure.
 * @throws ThresholdError, QuantityError, DurationError with upstream's message
 */
export function parseThresholdConfig(statements: EvictionStatements): Threshold[] {
  const { evictionHard = {}, evictionSoft = {}, enforceNodeAllocatable = [] } = statements;
  const { evictionSoftGracePeriod = {}, evictionMinimumReclaim = {} } = statements;
  const hard = parseStatements(evictionHard);
  const soft = parseStatements(evictionSoft);
  const gracePeriods = parseGracePeriods(evictionSoftGracePeriod);
  const minReclaims = parseMinimumReclaims(evictionMinimumReclaim);
  const softThresholds = soft.map((threshold) => {
    const gracePeriodMs = gracePeriods.get(threshold.signal);
    if (gracePeriodMs === undefined) {
      throw new ThresholdError(`grace period must be specified for the soft eviction threshold ${threshold.signal}`);
    }
    return { ...threshold, gracePeriodMs };
  });
  const all = [...hard, ...softThresholds].map((threshold): Threshold => {
    const minReclaim = minReclaims.get(threshold.signal);
    return minReclaim === undefined ? threshold : { ...threshold, minReclaim };
  });
  if (!enforceNodeAllocatable.includes("pods")) return all;
  const allocatable = all
    .filter((threshold) => threshold.signal === "memory.available" && isHard(threshold))
    .map((threshold): Threshold => ({ ...threshold, signal: "allocatableMemory.available" }));
  return [...all, ...allocatable];
}

function parseStatements(statements: Statements): Threshold[] {
  return Object.entries(statements).flatMap(([signal, text]) => {
    const value = parseThresholdValue(checkSignal(signal), text);
    return value === undefined ? [] : [{ signal: checkSignal(signal), value, gracePeriodMs: 0 }];
  });
}

/** Mirrors parseThresholdStatement. @returns undefined when the threshold is switched off: `0%`, `100%` */
function parseThresholdValue(signal: Signal, text: string): ThresholdValue | undefined {
  if (text.endsWith("%")) {
    if (text === "0%" || text === "100%") return undefined;
    const percentage = parsePercentage(text);
    if (percentage < 0) throw new ThresholdError(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
    if (percentage > 1) throw new ThresholdError(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
    return { percentage };
  }
  const quantity = storedQuantity(text);
  if (signOfQuantity(quantity) <= 0) {
    throw new ThresholdError(`eviction threshold ${signal} must be positive: ${quantity}`);
  }
  return { quantity };
}

/** Mirrors parsePercentage: 32 bit floats, so that 10% of a capacity is upstream's number of bytes. */
function parsePercentage(text: string): number {
  const digits = text.replace(/%+$/, "");
  if (!/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(digits)) {
    throw new ThresholdError(`strconv.ParseFloat: parsing ${JSON.stringify(digits)}: invalid syntax`);
  }
  return Math.fround(Math.fround(Number(digits)) / 100);
}

/** Mirrors parseGracePeriods. @returns ms */
function parseGracePeriods(statements: Statements): ReadonlyMap<Signal, number> {
  const periods = Object.entries(statements).map(([signal, text]) => {
    const checked = checkSignal(signal);
    const ms = parseGoDuration(text);
    if (ms < 0) {
      throw new ThresholdError(`invalid eviction grace period specified: ${text}, must be a positive value`);
    }
    return [checked, ms] as const;
  });
  return new Map(periods);
}

/** Mirrors parseMinimumReclaims. */
function parseMinimumReclaims(statements: Statements): ReadonlyMap<Signal, ThresholdValue> {
  const reclaims = Object.entries(statements).map(([signal, text]) => {
    const checked = checkSignal(signal);
    return [checked, parseMinimumReclaim(checked, text)] as const;
  });
  return new Map(reclaims);
}

function parseMinimumReclaim(signal: Signal, text: string): ThresholdValue {
  if (text.endsWith("%")) {
    const percentage = parsePercentage(text);
    if (percentage > 0) return { percentage };
    throw new ThresholdError(`eviction percentage minimum reclaim ${signal} must be positive: ${text}`);
  }
  const quantity = storedQuantity(text);
  if (signOfQuantity(quantity) >= 0) return { quantity };
  throw new ThresholdError(`negative eviction minimum reclaim specified for ${signal}`);
}

function checkSignal(text: string): Signal {
  if (isSignal(text)) return text;
  throw new ThresholdError(`unsupported eviction signal ${text}`);
}
