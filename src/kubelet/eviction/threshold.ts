import { unitValue } from "../../staging/apimachinery/quantity.js";

/** What runs short. `allocatableMemory.available` is what all pods together may still use. */
export type Signal =
  | "memory.available"
  | "nodefs.available"
  | "nodefs.inodesFree"
  | "imagefs.available"
  | "imagefs.inodesFree"
  | "allocatableMemory.available"
  | "pid.available";

export type PressureCondition = "MemoryPressure" | "DiskPressure" | "PIDPressure";

/** What eviction reclaims; `inodes` and `pids` are names of the eviction manager's own. */
export type StarvedResource = "memory" | "ephemeral-storage" | "inodes" | "pids";

/** Mirrors signalToNodeCondition and signalToResource in pkg/kubelet/eviction/helpers.go. */
const SIGNALS: Readonly<Record<Signal, { condition: PressureCondition; resource: StarvedResource }>> = {
  "memory.available": { condition: "MemoryPressure", resource: "memory" },
  "allocatableMemory.available": { condition: "MemoryPressure", resource: "memory" },
  "imagefs.available": { condition: "DiskPressure", resource: "ephemeral-storage" },
  "nodefs.available": { condition: "DiskPressure", resource: "ephemeral-storage" },
  "imagefs.inodesFree": { condition: "DiskPressure", resource: "inodes" },
  "nodefs.inodesFree": { condition: "DiskPressure", resource: "inodes" },
  "pid.available": { condition: "PIDPressure", resource: "pids" },
};

/** Mirrors validSignal. */
export function isSignal(text: string): text is Signal {
  return Object.hasOwn(SIGNALS, text);
}

export function conditionOf(signal: Signal): PressureCondition {
  return SIGNALS[signal].condition;
}

export function resourceOf(signal: Signal): StarvedResource {
  return SIGNALS[signal].resource;
}

/** A part of the capacity (a 32 bit float, as upstream), or an amount: `100Mi`. Mirrors ThresholdValue in pkg/kubelet/eviction/api/types.go. */
export type ThresholdValue = { readonly quantity: string } | { readonly percentage: number };

/** The signal must not fall below `value`. Mirrors Threshold in pkg/kubelet/eviction/api/types.go. */
export interface Threshold {
  readonly signal: Signal;
  readonly value: ThresholdValue;
  /** how long it must be met before pods are evicted; 0: a hard threshold */
  readonly gracePeriodMs: number;
  /** what must be free beyond `value` before the threshold counts as resolved */
  readonly minReclaim?: ThresholdValue;
}

/** Mirrors isHardEvictionThreshold. */
export function isHard({ gracePeriodMs }: Threshold): boolean {
  return gracePeriodMs === 0;
}

/** The amount in bytes, inodes or processes. Mirrors GetThresholdQuantity. */
export function thresholdAmount(value: ThresholdValue, capacity: number): number {
  return "quantity" in value ? unitValue(value.quantity) : Math.trunc(capacity * value.percentage);
}

/** `10%`, `100Mi` */
export function thresholdText(value: ThresholdValue): string {
  return "quantity" in value ? value.quantity : `${Number((value.percentage * 100).toPrecision(6))}%`;
}
