import { goDuration } from "../../staging/apimachinery/time.js";
import { messageOf } from "../../util/errors.js";
import { factFor } from "../../util/release/facts.js";
/** The answer of `Healthy`. */
export type PlegHealth =
  | { readonly healthy: true }
  | {
      readonly healthy: false;
      /** in upstream's words */
      readonly message: string;
      /** the component at fault */
      readonly cause: string;
    };

/** Mirrors RelistDuration: the node is not Ready once no relist has succeeded for the threshold. */
export interface RelistDuration {
  readonly relistPeriodMs: number;
  readonly relistThresholdMs: number;
}

/** Relists as seen from outside. Unix ms. */
export interface RelistTimes {
  readonly nowMs: number;
  /** the start of the last one that succeeded */
  readonly lastMs?: number;
  /** the start of the one that is under way */
  readonly beganMs?: number;
}

/** Mirrors genericPlegRelistPeriod and genericPlegRelistThreshold in pkg/kubelet/kubelet.go. */
export function genericRelistDuration(kubeVersion: string, relistPeriodMs?: number): RelistDuration {
  return {
    relistPeriodMs: relistPeriodMs ?? factFor("plegRelistPeriod", kubeVersion),
    relistThresholdMs: factFor("plegRelistThreshold", kubeVersion),
  };
}

/** A call of the runtime that has not been answered yet. */
export interface PendingCall {
  /** `list its pods`, `inspect pod default/myngx` */
  readonly what: string;
  /** Unix ms */
  readonly sinceMs: number;
}

/**
 * Names the component that prevents relists from succeeding. Ours: upstream reports the elapsed time only.
 * @param lastError of the last relist, if it failed
 */
export function causeOf(pending: readonly PendingCall[], lastError: unknown, nowMs: number): string {
  const [oldest] = [...pending].sort((a, b) => a.sinceMs - b.sinceMs);
  const waitedMs = oldest === undefined ? 0 : nowMs - oldest.sinceMs;
  // A call unanswered for a second explains more than the error before it.
  if (oldest !== undefined && (waitedMs >= 1000 || lastError === undefined)) {
    return `the container runtime's: it was asked to ${oldest.what} ${goDuration(waitedMs)} ago and has not answered`;
  }
  if (lastError !== undefined) return `the container runtime's: the last relist failed with ${messageOf(lastError)}`;
  return "the kubelet's own: nothing is being asked of the runtime, and no relist has been started";
}
