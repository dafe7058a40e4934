import type { V1Pod, V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import type { Trace } from "../../trace/trace.js";
import { podText } from "../types/pod-update.js";

const FILE = "pkg/kubelet/status/status_manager.go";

/** Words the facts of pod statuses. */
export class StatusObserver {
  constructor(readonly trace: Trace) {}

  /** Reports a pod's new phase. */
  phase(pod: V1Pod, from: V1PodStatus["phase"], to: V1PodStatus["phase"], func: string): void {
    if (to === undefined || from === to) return;
    const before = from === undefined ? {} : { from };
    const subject = `pod ${podText(pod)}`;
    const upstream = { file: FILE, func };
    this.trace.emit({ kind: "state", subject, what: "phase", ...before, to, upstream }, { actor: "kubelet" });
  }

  /** @returns the id of the fact */
  decided(what: string, why: string, func: string, level: 1 | 2 = 1): string {
    const upstream = { file: FILE, func };
    return this.trace.emit({ kind: "decision", what, why, upstream }, { actor: "kubelet", level }).id;
  }

  failed(message: string): void {
    this.trace.emit({ kind: "error", message, hint: "It is tried again." }, { actor: "kubelet", level: 1 });
  }
}
