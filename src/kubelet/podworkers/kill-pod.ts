import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { ChildAbort } from "../../util/async/abort.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import { podText } from "../types/pod-update.js";
import { killPodTimeoutSeconds } from "./grace-period.js";
import type { PodWorkers } from "./pod-workers.js";
import { CompletedCh, type PodStatusFunc } from "./update.js";

export interface KillPodDeps {
  readonly podWorkers: Pick<PodWorkers, "updatePod">;
  readonly recorder: PodEventRecorder;
  readonly clock: Clock;
}

export interface KillPodNowOptions {
  readonly isEvicted: boolean;
  /** default: the pod's own */
  readonly gracePeriodOverrideSeconds?: number;
  readonly statusFunc?: PodStatusFunc;
}

/**
 * Ends a pod and waits until none of its containers runs. For evictions.
 *
 * Mirrors killPodNow in pkg/kubelet/pod_workers.go.
 * @throws Error when it takes longer than one and a half times its grace period; the signal's reason
 */
export async function killPodNow(
  deps: KillPodDeps,
  pod: V1Pod,
  options: KillPodNowOptions,
  signal: AbortSignal,
): Promise<void> {
  const { gracePeriodOverrideSeconds: override, statusFunc, isEvicted } = options;
  const graceSeconds = override ?? pod.spec.terminationGracePeriodSeconds ?? 0;
  signal.throwIfAborted();
  const completedCh = new CompletedCh();
  deps.podWorkers.updatePod({
    pod,
    updateType: "kill",
    killPodOptions: {
      completedCh,
      evict: isEvicted,
      ...defined({ podStatusFunc: statusFunc, podTerminationGracePeriodSecondsOverride: override }),
    },
  });
  if (await closesWithin(completedCh, deps.clock, killPodTimeoutSeconds(graceSeconds) * 1000, signal)) return;
  const message = "Container runtime did not kill the pod within specified grace period.";
  deps.recorder.event(pod, "Warning", "ExceededGracePeriod", message);
  throw new Error(`timeout waiting to kill pod ${podText(pod)}`);
}

async function closesWithin(
  completedCh: CompletedCh,
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (completedCh.isClosed) return true;
  using timer = new ChildAbort(signal);
  try {
    const timeout = clock.sleep(timeoutMs, timer.signal).then(() => false);
    return await Promise.race([completedCh.closed.then(() => true), timeout]);
  } finally {
    timer.abort();
  }
}
