import type { PodEventOptions, PodEventRecorder } from "../../src/kubelet/events/pod-recorder.js";
import type { V1Pod } from "../../src/staging/apimachinery/api/pod.js";

/** Keeps recorded events: `Warning FailedMount ...`. */
export class RecordedEvents implements PodEventRecorder {
  readonly lines: string[] = [];
  readonly fieldPaths: (string | undefined)[] = [];

  event(_: V1Pod, type: "Normal" | "Warning", reason: string, message: string, options: PodEventOptions = {}): void {
    this.lines.push(`${type} ${reason} ${message}`);
    this.fieldPaths.push(options.fieldPath);
  }
}
