import type { V1Pod } from "../../api/pod.js";

/** Records Events about pods. Recording one never holds up what it is about. Mirrors record.EventRecorder. */
export interface PodEventRecorder {
  /** @param reason as in pkg/kubelet/events/event.go: `FailedSync`, `Killing`, ... */
  event(pod: V1Pod, type: "Normal" | "Warning", reason: string, message: string, options?: PodEventOptions): void;
}

export interface PodEventOptions {
  /** which part of the pod: `spec.containers{app}` */
  readonly fieldPath?: string;
}
