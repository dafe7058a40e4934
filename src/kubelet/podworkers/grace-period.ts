import type { V1Pod } from "../../apimachinery/api/pod.js";
import type { KillPodOptions } from "./update.js";

/** Whoever terminates a pod gets at least this much, whatever was asked for. */
export const MIN_GRACE_PERIOD_SECONDS = 1;
const MIN_KILL_TIMEOUT_SECONDS = 10;

/**
 * How long the containers of a terminating pod have. It can only become shorter: what the API server decided, then what
 * the kubelet wants, then (when nobody said anything) what the pod's spec says.
 *
 * Mirrors calculateEffectiveGracePeriod in pkg/kubelet/pod_workers.go. Pure.
 *
 * @param before seconds decided so far; 0: none. So a wish for 0 counts as none, as it does upstream.
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
 * How long to wait for a pod to be killed before giving up: half as long again as its grace period, but never less than
 * 10 s. Mirrors killPodNow. Integer arithmetic, as upstream.
 */
export function killPodTimeoutSeconds(gracePeriodSeconds: number): number {
  return Math.max(MIN_KILL_TIMEOUT_SECONDS, gracePeriodSeconds + Math.trunc(gracePeriodSeconds / 2));
}
