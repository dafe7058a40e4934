import {
  isPodPhaseTerminal,
  replaceOrAppend,
  type V1Pod,
  type V1PodStatus,
} from "../../staging/apimachinery/api/pod.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import { forTerminalPhase } from "../status/generate.js";

const DEADLINE_EXCEEDED = {
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
} as const;

export interface ActiveDeadlineDeps {
  readonly statusManager: { getPodStatus(podUid: string): V1PodStatus | undefined };
  readonly recorder: PodEventRecorder;
  readonly clock: Clock;
}

/**
 * Ends pods that have run longer than their activeDeadlineSeconds allow.
 *
 * Mirrors pkg/kubelet/active_deadline.go (activeDeadlineHandler).
 */
export class ActiveDeadline {
  constructor(readonly deps: ActiveDeadlineDeps) {}

  /** A pod past its deadline needs a sync. Mirrors ShouldSync. */
  shouldSync(pod: V1Pod): boolean {
    return this.#isPast(pod);
  }

  /**
   * Mirrors ShouldEvict, and its use in generateAPIPodStatus: each call records the event, so that an ending pod gets
   * three of them.
   * @returns the status of such a pod
   */
  apply(pod: V1Pod, status: V1PodStatus): V1PodStatus {
    if (!this.#isPast(pod)) return status;
    const { reason, message } = DEADLINE_EXCEEDED;
    this.deps.recorder.event(pod, "Normal", reason, message);
    // A terminal phase in the API is final.
    const phase = isPodPhaseTerminal(pod.status.phase) ? pod.status.phase : "Failed";
    const conditions = (["Ready", "ContainersReady"] as const).reduce(
      (all, type) => replaceOrAppend(all, forTerminalPhase(type, phase)),
      status.conditions ?? [],
    );
    return { ...status, ...defined({ phase }), reason, message, conditions };
  }

  /** Mirrors pastActiveDeadline. */
  #isPast(pod: V1Pod): boolean {
    const { activeDeadlineSeconds } = pod.spec;
    if (typeof activeDeadlineSeconds !== "number") return false;
    const { startTime } = this.deps.statusManager.getPodStatus(pod.metadata.uid) ?? pod.status;
    if (startTime === undefined || startTime === null) return false;
    return this.deps.clock.now() - Date.parse(startTime) >= activeDeadlineSeconds * 1000;
  }
}
