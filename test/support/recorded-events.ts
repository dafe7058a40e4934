import type { V1Pod } from "../../src/apimachinery/api/pod.js";
import type { PodEventOptions, PodEventRecorder } from "../../src/kubelet/events/pod-recorder.js";

/** Keeps recorded events: `Warning FailedMount ...`. */
export class RecordedEvents implements PodEventRecorder {
  readonly lines: string[] = [];
  readonly fieldPaths: (string | undefined)[] = [];

  event(_: V1Pod, type: "Normal" | "Warning", reason: string, message: string, options: PodEventOptions = {}): void {
    this.lines.push(`${type} ${reason} ${message}`);
    this.fieldPaths.push(options.fieldPath);
  }
}
