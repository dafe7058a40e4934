import { forTerminalPhase } from "../../kubelet/status/generate.js";
import { replaceOrAppend, type V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import { progressText } from "./outcome.js";
import type { VirtualPod } from "./virtual-pod.js";

/**
 * Puts a handler's progress and result into its pod's status: progress becomes the status's message, the end of the
 * handler ends the pod. The restart policy is ignored, because a function is called once.
 *
 * It does what a PodSyncHandler does upstream. Pure.
 * @param status the status as generated from the containers alone
 */
export function withWork(status: V1PodStatus, work: VirtualPod | undefined): V1PodStatus {
  if (work === undefined) return status;
  const { outcome, progress } = work;
  if (outcome === undefined) {
    if (progress === undefined || status.phase !== "Running") return status;
    // No reason: kubectl would show it instead of Running.
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
