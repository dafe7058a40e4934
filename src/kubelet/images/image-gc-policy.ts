import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { LabError } from "../../util/errors.js";
import type { KubeletConfiguration } from "../apis/config/defaults.js";

/** When images are collected, and down to which usage. Mirrors ImageGCPolicy in pkg/kubelet/images/image_gc_manager.go. */
export interface ImageGcPolicy {
  /** usage of the image file system from which images are collected; 100: never */
  readonly highThresholdPercent: number;
  /** usage at which collection stops */
  readonly lowThresholdPercent: number;
  /** younger images stay: a container may be about to use them */
  readonly minAgeMs: number;
}

/** The policy of a configuration. Mirrors NewMainKubelet in pkg/kubelet/kubelet.go. */
export function imageGcPolicy(config: KubeletConfiguration): ImageGcPolicy {
  return {
    highThresholdPercent: config.imageGCHighThresholdPercent,
    lowThresholdPercent: config.imageGCLowThresholdPercent,
    minAgeMs: parseGoDuration(config.imageMinimumGCAge),
  };
}

/** Mirrors NewImageGCManager. @throws LabError USAGE with upstream's message */
export function checkImageGcPolicy(policy: ImageGcPolicy): ImageGcPolicy {
  const { highThresholdPercent: high, lowThresholdPercent: low } = policy;
  const problems = [
    isPercentage(high) ? undefined : `invalid HighThresholdPercent ${high}, must be in range [0-100]`,
    isPercentage(low) ? undefined : `invalid LowThresholdPercent ${low}, must be in range [0-100]`,
    low <= high ? undefined : `LowThresholdPercent ${low} can not be higher than HighThresholdPercent ${high}`,
  ];
  const problem = problems.find((one) => one !== undefined);
  if (problem === undefined) return policy;
  throw new LabError("USAGE", problem, "The defaults are 85 and 80: images are collected at 85 % usage, down to 80 %.");
}

function isPercentage(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 100;
}

/** What the manager knows about an image. Mirrors imageRecord. */
export interface ImageRecord {
  readonly imageId: string;
  /** Unix ms; 0: it was there before this kubelet */
  readonly firstDetectedMs: number;
  /** Unix ms at which a container was last seen to use it; 0: never */
  readonly lastUsedMs: number;
  readonly sizeBytes: number;
  /** the runtime asks to keep it */
  readonly isPinned: boolean;
}

/**
 * The images that no container uses, the least recently used first; among those, the one that was detected first.
 * Mirrors byLastUsedAndDetected. Pure.
 */
export function inEvictionOrder(records: Iterable<ImageRecord>, inUse: ReadonlySet<string>): ImageRecord[] {
  return [...records]
    .filter(({ imageId }) => !inUse.has(imageId))
    .sort((a, b) => a.lastUsedMs - b.lastUsedMs || a.firstDetectedMs - b.firstDetectedMs);
}

/** Why an unused image stays; undefined: it may be removed. Mirrors freeSpace. Pure. */
export function whyKept(record: ImageRecord, freeTimeMs: number, minAgeMs: number): string | undefined {
  const { isPinned, lastUsedMs, firstDetectedMs } = record;
  if (isPinned) return "the runtime has pinned it";
  if (lastUsedMs >= freeTimeMs) return "it was used a moment ago";
  if (freeTimeMs - firstDetectedMs < minAgeMs) return `it is younger than ${minAgeMs / 1000} s`;
  return undefined;
}

/**
 * The bytes to free so that usage falls to the low threshold; undefined below the high threshold.
 * Mirrors GarbageCollect. Integer arithmetic, as upstream. Pure.
 */
export function amountToFree(
  { highThresholdPercent, lowThresholdPercent }: ImageGcPolicy,
  capacityBytes: number,
  availableBytes: number,
): { readonly usagePercent: number; readonly bytes: number } | undefined {
  const usagePercent = 100 - Math.trunc((availableBytes * 100) / capacityBytes);
  if (usagePercent < highThresholdPercent) return undefined;
  const bytes = Math.trunc((capacityBytes * (100 - lowThresholdPercent)) / 100) - availableBytes;
  return { usagePercent, bytes };
}
