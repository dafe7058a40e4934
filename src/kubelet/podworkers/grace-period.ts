import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { KillPodOptions } from "./update.js";

/** The minimum grace period of a terminating pod. */
export const MIN_GRACE_PERIOD_SECONDS = 1;
const MIN_KILL_TIMEOUT_SECONDS = 10;

/**
 * The grace period of a terminating pod. It only becomes shorter: first the API server's value, then the kubelet's
 * override, then (if both are missing) the pod's spec.
 *
 * Mirrors calculateEffectiveGracePeriod in pkg/kubelet/pod_workers.go. Pure.
 *
 * @param before seconds chosen earlier. 0 means none, so an earlier choice of 0 is lost, as upstream.
 */
export function calculateEffectiveGracePeriod(
  before: number,
  pod: V1Pod,
  options: KillPodOptions,
): { readonly gracePeriodSeconds: number; readonly isShortened: boolean } {
  let seconds = before;
  for (const wish of [pod.metadata.deletionGracePeriodSeconds, options.podTerminationGracePeriodSecondsOverride]) {
    if (wish !== undefined && (seconds === 0 || wish < seconds)) seconds = wish;
  }
  if (seconds === 0) seconds = pod.spec.terminationGracePeriodSeconds ?? 0;
  seconds = Math.max(seconds, MIN_GRACE_PERIOD_SECONDS);
  return { gracePeriodSeconds: seconds, isShortened: before !== 0 && before !== seconds };
}

/**
 * How long to wait for a pod to be killed before giving up: one and a half times its grace period, at least 10 s.
 * Mirrors killPodNow. Integer arithmetic, as upstream.
 */
export function killPodTimeoutSeconds(gracePeriodSeconds: number): number {
  return Math.max(MIN_KILL_TIMEOUT_SECONDS, gracePeriodSeconds + Math.trunc(gracePeriodSeconds / 2));
}
