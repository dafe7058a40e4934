import { signOfQuantity, storedQuantity } from "../../staging/apimachinery/quantity.js";
import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { messageOf } from "../../util/errors.js";
import { withoutEnding } from "../../util/text/linear-text.js";
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

/** Why a statement is wrong, in upstream's words. */
class ThresholdError extends Error {
  override readonly name = "ThresholdError";
}

type StatementField = Exclude<keyof EvictionStatements, "enforceNodeAllocatable">;

/** Names the field of a wrong statement, which upstream's message leaves out. */
export class StatementError extends Error {
  override readonly name = "StatementError";

  /** @param statement `memory.available "100Mib": ` and upstream's message */
  constructor(
    readonly field: StatementField,
    readonly statement: string,
    options: ErrorOptions,
  ) {
    super(`${field} ${statement}`, options);
  }
}

/** Parses each statement of a field. @throws StatementError */
function parseEach<T>(
  field: StatementField,
  statements: Statements,
  parse: (signal: Signal, text: string) => T,
): (readonly [Signal, T])[] {
  return Object.entries(statements).map(([signal, text]) => {
    try {
      const checked = checkSignal(signal);
      return [checked, parse(checked, text)] as const;
    } catch (cause) {
      throw new StatementError(field, `${signal} ${JSON.stringify(text)}: ${messageOf(cause)}`, { cause });
    }
  });
}

/**
 * The thresholds, the hard ones first. One for `allocatableMemory.available` is added to each hard one for
 * `memory.available` if the limits of all pods together are enforced (`enforceNodeAllocatable: [pods]`).
 *
 * Mirrors ParseThresholdConfig and addAllocatableThresholds in pkg/kubelet/eviction/helpers.go. Pure.
 * @throws StatementError with the field, the statement and upstream's message
 */
export function parseThresholdConfig(statements: EvictionStatements): Threshold[] {
  const { evictionHard = {}, evictionSoft = {}, enforceNodeAllocatable = [] } = statements;
  const { evictionSoftGracePeriod = {}, evictionMinimumReclaim = {} } = statements;
  const hard = parseStatements("evictionHard", evictionHard);
  const soft = parseStatements("evictionSoft", evictionSoft);
  const gracePeriods = parseGracePeriods(evictionSoftGracePeriod);
  const minReclaims = parseMinimumReclaims(evictionMinimumReclaim);
  const softThresholds = soft.map((threshold) => {
    const gracePeriodMs = gracePeriods.get(threshold.signal);
    if (gracePeriodMs === undefined) {
      const { signal } = threshold;
      const why = `grace period must be specified for the soft eviction threshold ${signal}`;
      const cause = new ThresholdError(why);
      throw new StatementError("evictionSoft", `${signal} ${JSON.stringify(evictionSoft[signal])}: ${why}`, { cause });
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

function parseStatements(field: StatementField, statements: Statements): Threshold[] {
  return parseEach(field, statements, parseThresholdValue).flatMap(([signal, value]) =>
    value === undefined ? [] : [{ signal, value, gracePeriodMs: 0 }],
  );
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
  const digits = withoutEnding(text, "%");
  if (!/^[-+]?(\d+(?:\.\d*)?|\.\d+)([eE][-+]?\d+)?$/.test(digits)) {
    throw new ThresholdError(`strconv.ParseFloat: parsing ${JSON.stringify(digits)}: invalid syntax`);
  }
  return Math.fround(Math.fround(Number(digits)) / 100);
}

/** Mirrors parseGracePeriods. @returns ms */
function parseGracePeriods(statements: Statements): ReadonlyMap<Signal, number> {
  const periods = parseEach("evictionSoftGracePeriod", statements, (_signal, text) => {
    const ms = parseGoDuration(text);
    if (ms < 0) {
      throw new ThresholdError(`invalid eviction grace period specified: ${text}, must be a positive value`);
    }
    return ms;
  });
  return new Map(periods);
}

/** Mirrors parseMinimumReclaims. */
function parseMinimumReclaims(statements: Statements): ReadonlyMap<Signal, ThresholdValue> {
  return new Map(parseEach("evictionMinimumReclaim", statements, parseMinimumReclaim));
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
