import {
  replaceOrAppend,
  type V1Pod,
  type V1PodCondition,
  type V1PodStatus,
} from "../../staging/apimachinery/api/pod.js";
import type { Trace } from "../../trace/trace.js";
import { factFor } from "../../util/release/facts.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import { isCriticalPod } from "../types/pod-update.js";
import { type EvictionMessage, REASON } from "./message.js";
import { EvictionReporter } from "./reporter.js";

export interface EvictPodDeps {
  readonly recorder: PodEventRecorder;
  /**
   * Ends a pod and waits until none of its containers runs: `killPodNow` of the pod workers.
   * @throws Error when that takes too long
   */
  readonly killPod: (
    pod: V1Pod,
    gracePeriodSeconds: number,
    statusFunc: (status: V1PodStatus) => V1PodStatus,
    signal: AbortSignal,
  ) => Promise<void>;
  readonly trace: Trace;
}

export interface EvictPodOptions extends EvictionMessage {
  readonly gracePeriodSeconds: number;
  /** the node's pressure is the reason, and not a limit of the pod */
  readonly isDisruption: boolean;
  readonly kubeVersion: string;
}

/**
 * Fails a pod with the reason Evicted, and ends it.
 *
 * Mirrors evictPod in pkg/kubelet/eviction/eviction_manager.go.
 * @returns false for critical pods: static pods are among them, and would not come back
 * @throws the signal's reason
 */
export async function evictPod(
  { recorder, killPod, trace }: EvictPodDeps,
  pod: V1Pod,
  { message, annotations, gracePeriodSeconds, isDisruption, kubeVersion }: EvictPodOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const reporter = new EvictionReporter(trace);
  if (isCriticalPod(pod)) {
    reporter.spares(pod);
    return false;
  }
  recorder.event(pod, "Warning", REASON, message, { annotations });
  const hasCondition = isDisruption && factFor("podDisruptionConditions", kubeVersion);
  const disrupted: V1PodCondition = {
    type: "DisruptionTarget",
    status: "True",
    reason: "TerminationByKubelet",
    message,
  };
  const statusFunc = (status: V1PodStatus): V1PodStatus => ({
    ...status,
    phase: "Failed",
    reason: REASON,
    message,
    ...(hasCondition ? { conditions: replaceOrAppend(status.conditions ?? [], disrupted) } : {}),
  });
  try {
    await killPod(pod, gracePeriodSeconds, statusFunc, signal);
    reporter.evicted(pod);
  } catch (error) {
    signal.throwIfAborted();
    // Upstream counts it as evicted all the same: the pod has failed, and its worker goes on.
    reporter.notEvicted(pod, error);
  }
  return true;
}
