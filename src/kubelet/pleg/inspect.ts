import type { Clock } from "../../util/clock.js";
import { isOwnBug } from "../../util/errors.js";
import type { PodCache } from "../container/cache.js";
import type { Pod, PodStatus, Runtime } from "../container/runtime.js";
import type { InspectionOutcome } from "./report.js";

/**
 * Asks the runtime for a pod's status and stores what comes, an error of the runtime too.
 *
 * Mirrors updateCache in pkg/kubelet/pleg/generic.go.
 * @param asListedMs inspect what a list of that moment (Unix ms) has shown, where the runtime can do so
 */
export async function inspectPod(
  { runtime, cache, clock }: { readonly runtime: Runtime; readonly cache: PodCache; readonly clock: Clock },
  pod: Pod,
  asListedMs: number | undefined,
  signal: AbortSignal,
): Promise<InspectionOutcome> {
  const { podUid } = pod;
  // Nothing that happens from here on may be missed by who waits for "newer than": so before asking, not after.
  let modifiedMs = clock.now();
  let status: PodStatus;
  try {
    if (asListedMs !== undefined && runtime.getListedPodStatus !== undefined) {
      modifiedMs = asListedMs;
      status = await runtime.getListedPodStatus(pod, signal);
    } else {
      status = await runtime.getPodStatus(pod, signal);
    }
  } catch (error) {
    if (signal.aborted || isOwnBug(error)) throw error;
    cache.set(podUid, undefined, error, modifiedMs);
    return { kind: "failed", error };
  }
  const ips = keepPodIps(cache, status);
  const kept = ips === status.ips ? status : { ...status, ips };
  if (!cache.set(podUid, kept, undefined, status.timestampMs ?? modifiedMs)) return { kind: "outdated" };
  return { kind: "stored", status: kept };
}

/**
 * A pod that is dead has lost its network, and its IP shall still be told: the one known before is kept, unless a sandbox
 * is ready (then having none is the truth).
 *
 * Mirrors getPodIPs in pkg/kubelet/pleg/generic.go.
 */
export function keepPodIps(cache: PodCache, status: PodStatus): readonly string[] {
  if (status.ips.length > 0) return status.ips;
  const before = cache.get(status.podUid);
  const ips = before.status?.ips ?? [];
  if (before.error !== undefined || ips.length === 0) return status.ips;
  return status.sandboxStatuses.some(({ state }) => state === "ready") ? status.ips : ips;
}
