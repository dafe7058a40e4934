import { goDuration } from "../../apimachinery/time.js";
import { messageOf } from "../../util/errors.js";
/** What `Healthy` answers. */
export type PlegHealth =
  | { readonly healthy: true }
  | {
      readonly healthy: false;
      /** upstream's words */
      readonly message: string;
      /** whose fault it is, in ours */
      readonly cause: string;
    };

/** How often to relist, and how long none may succeed before the node is not Ready any more. Mirrors RelistDuration. */
export interface RelistDuration {
  readonly relistPeriodMs: number;
  readonly relistThresholdMs: number;
}

/** What is being waited for right now, as far as somebody else is to answer. */
export interface PendingCall {
  /** `list its pods`, `inspect pod default/myngx` */
  readonly what: string;
  /** Unix ms */
  readonly sinceMs: number;
}

/** What PLEG knows about why no relist has succeeded lately. */
export interface HealthFacts {
  readonly nowMs: number;
  /** Unix ms of the beginning of the last relist that got a list; undefined: none yet */
  readonly relistTimeMs: number | undefined;
  readonly thresholdMs: number;
  readonly pending: readonly PendingCall[];
  /** of the last relist that failed, with no success since */
  readonly lastError: unknown;
}

/** Pure. Mirrors Healthy in pkg/kubelet/pleg/generic.go; the cause is our addition. */
export function healthOf(facts: HealthFacts): PlegHealth {
  const { nowMs, relistTimeMs, thresholdMs } = facts;
  if (relistTimeMs === undefined) {
    return { healthy: false, message: "pleg has yet to be successful", cause: causeOf(facts) };
  }
  const elapsedMs = nowMs - relistTimeMs;
  if (elapsedMs <= thresholdMs) return { healthy: true };
  const message = `pleg was last seen active ${goDuration(elapsedMs)} ago; threshold is ${goDuration(thresholdMs)}`;
  return { healthy: false, message, cause: causeOf(facts) };
}

function causeOf({ nowMs, pending, lastError }: HealthFacts): string {
  const oldest = pending.reduce<PendingCall | undefined>(
    (found, call) => (found === undefined || call.sinceMs < found.sinceMs ? call : found),
    undefined,
  );
  const waitedMs = oldest === undefined ? 0 : nowMs - oldest.sinceMs;
  // A call that is not answered says more than the error before it, once it takes longer than any answer should.
  if (oldest !== undefined && (waitedMs >= 1000 || lastError === undefined)) {
    return `the container runtime's: it was asked to ${oldest.what} ${goDuration(waitedMs)} ago and has not answered`;
  }
  if (lastError !== undefined) {
    return `the container runtime's: the last relist failed with ${messageOf(lastError)}`;
  }
  return "the kubelet's own: nothing is being asked of the runtime, and no relist has been started";
}
