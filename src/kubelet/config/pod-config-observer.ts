import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { counted } from "../../util/text/counted.js";
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

const UNDELTA_STORE = "staging/src/k8s.io/client-go/tools/cache/undelta_store.go";

/** Words the facts about the pods that the API server's watch brings. */
export class ApiserverSourceObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/config/apiserver.go";

  watches(fieldSelector: string): void {
    this.note(`Watching apiserver: pods with ${fieldSelector}`, 2, "newSourceApiserverFromLW");
  }

  /** @param func the method of UndeltaStore that the reflector calls */
  pushes(func: "Replace" | "Add" | "Update" | "Delete", count: number): void {
    const text = `UndeltaStore.${func} pushes SET, the whole store instead of the change: ${counted(count, "pod")}`;
    this.note(text, 2, func, UNDELTA_STORE);
  }

  watchFailed(message: string, hint: string, retryMs: number): void {
    this.error(message, { hint: `The watch is tried again in ${retryMs / 1000} s; known pods stay. ${hint}` });
  }
}

/** Words the facts about the URL with pods. */
export class HttpSourceObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/config/http.go";

  readAgain(): void {
    this.note("Successfully read pods from URL.", 1, "run");
  }

  /** @param isEmpty it has answered with nothing */
  unusable(why: string, isEmpty: boolean, isLoud: boolean): void {
    const empty = "That counts as an answer without pods: the known pods end.";
    const hint = isEmpty ? empty : "Known pods stay.";
    this.error(`failed to read pods from URL: ${why}`, { hint, level: isLoud ? 1 : 3 });
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
