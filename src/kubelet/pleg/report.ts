import type { PodRef, PodStatus } from "../container/runtime.js";
import type { ContainerChange, PodLifecycleEvent } from "./events.js";

/** What a relist found of one pod. */
export interface FoundPod {
  readonly pod: PodRef;
  /** none: looked at again only because the last inspection failed */
  readonly changes: readonly ContainerChange[];
}

/** ... and what became of it. */
export interface PodOutcome extends FoundPod {
  readonly inspection: InspectionOutcome;
  /** those that went into the channel */
  readonly sent: readonly PodLifecycleEvent[];
  /** those the full channel had no room for: they are lost, as the pod's record has been updated */
  readonly discarded: readonly PodLifecycleEvent[];
}

export type InspectionOutcome =
  | { readonly kind: "stored"; readonly status: PodStatus }
  /** the pod is not in the list any more, and not in the cache either */
  | { readonly kind: "forgotten" }
  /** asked for, and the answer is stored as an error: events wait for the next relist, which finds the changes again */
  | { readonly kind: "failed"; readonly error: unknown }
  /** an evented cache already has something newer: no event is sent */
  | { readonly kind: "outdated" }
  /** there is no cache to keep it in */
  | { readonly kind: "skipped" };

/** What one relist did. */
export type RelistReport =
  | {
      readonly outcome: "failed";
      /** Unix ms of its beginning */
      readonly startedMs: number;
      readonly durationMs: number;
      readonly error: unknown;
    }
  | {
      readonly outcome: "done";
      readonly startedMs: number;
      readonly durationMs: number;
      /** of which the two lists took so long */
      readonly listMs: number;
      readonly podCount: number;
      /** pods with changes, in the order of the list */
      readonly changed: readonly PodOutcome[];
      /** pods whose last inspection had failed, inspected again after the others */
      readonly reinspected: readonly PodOutcome[];
      /** uids of those that the next relist must inspect again */
      readonly podsToReinspect: readonly string[];
    };

/** What relists have done, added up. */
export interface RelistCounts {
  readonly relists: number;
  readonly failedRelists: number;
  /** pods asked for one by one */
  readonly inspections: number;
  readonly discarded: number;
}

export const NO_RELISTS: RelistCounts = { relists: 0, failedRelists: 0, inspections: 0, discarded: 0 };

export function countReport(before: RelistCounts, report: RelistReport): RelistCounts {
  const relists = before.relists + 1;
  if (report.outcome === "failed") return { ...before, relists, failedRelists: before.failedRelists + 1 };
  let { inspections, discarded } = before;
  for (const outcome of [...report.changed, ...report.reinspected]) {
    if (outcome.inspection.kind !== "skipped" && outcome.inspection.kind !== "forgotten") inspections++;
    discarded += outcome.discarded.length;
  }
  return { ...before, relists, inspections, discarded };
}
