import type { V1PodStatus } from "../apimachinery/api/pod.js";
import { forTerminalPhase } from "../kubelet/status/generate.js";
import { replaceOrAppend } from "../kubelet/status/merge.js";
import { progressText } from "./outcome.js";
import type { VirtualPod } from "./virtual-pod.js";

/**
 * Brings a handler's progress and result into the status of its pod: what it says while it works is the status's message,
 * its end is the pod's, whatever the restart policy says: a function is called once.
 *
 * Mirrors what PodSyncHandlers do in generateAPIPodStatus in pkg/kubelet/kubelet_pods.go. Pure.
 * @param status what the containers alone would show
 */
export function withWork(status: V1PodStatus, work: VirtualPod | undefined): V1PodStatus {
  if (work === undefined) return status;
  const { outcome, progress } = work;
  if (outcome === undefined) {
    if (progress === undefined || status.phase !== "Running") return status;
    // No reason: kubectl would show it in place of Running.
    return { ...status, message: progressText(progress) };
  }
  const { phase, reason, message } = outcome;
  const conditions = (["Ready", "ContainersReady"] as const).reduce(
    (all, type) => replaceOrAppend(all, forTerminalPhase(type, phase)),
    status.conditions ?? [],
  );
  const { reason: _reason, message: _message, ...rest } = status;
  return { ...rest, phase, reason, ...(message === "" ? {} : { message }), conditions };
}
