import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { KubeletObserver } from "../types/observer.js";
import { type PodOperation, type PodSource, podText } from "../types/pod-update.js";

/** Words the facts about the merged pods of all sources. */
export class PodConfigObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/config/config.go";

  /** @returns the id of the fact */
  sends(op: PodOperation, source: PodSource, pods: readonly V1Pod[]): string {
    const names = pods.map(podText).join(", ");
    const why = pods.length === 0 ? "the source has reported for the first time, and has no pods" : reasonFor(op);
    return this.decision(`${op} from ${source}: [${names}]`, why, "Merge", { level: op === "RECONCILE" ? 2 : 1 });
  }

  duplicate(pod: V1Pod, source: PodSource): void {
    const why = `${source} has another pod with the name ${podText(pod)}`;
    this.decision(`leave out a pod from ${source}`, why, "Merge");
  }
}

function reasonFor(op: PodOperation): string {
  switch (op) {
    case "ADD":
      return "the source has them now, and did not before";
    case "UPDATE":
      return "their spec, labels or annotations have changed";
    case "DELETE":
      return "they were marked for graceful deletion";
    case "REMOVE":
      return "the source no longer has them";
    default:
      return "only their status in the API has changed";
  }
}
