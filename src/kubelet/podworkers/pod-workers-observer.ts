import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { constantsFor } from "../../util/release/facts.js";
import { KubeletObserver } from "../types/observer.js";
import { podText } from "../types/pod-update.js";
import type { BackOffPeriod, PodWork, PodWorkType } from "./update.js";

/** Words the facts of the pod workers. */
export class PodWorkersObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/pod_workers.go";

  /** Reports a worker's state if it changed. @returns the id of the fact */
  phase(pod: V1Pod, from: string | undefined, to: string, func: string): string | undefined {
    return to === from ? undefined : this.state(`pod ${podText(pod)}`, "worker", to, func, { from });
  }

  ignored(pod: V1Pod): void {
    const why = "only the runtime knows this pod: it can only be killed";
    this.decision(`ignore the update of ${podText(pod)}`, why, "UpdatePod");
  }

  startsLater(pod: V1Pod): void {
    const why = "a pod with this uid is still ending; housekeeping starts the new one afterwards";
    this.decision(`start ${podText(pod)} later`, why, "UpdatePod");
  }

  terminates(pod: V1Pod, why: string): void {
    this.decision(`terminate ${podText(pod)}`, why, "UpdatePod");
  }

  startsWorker(pod: V1Pod): void {
    const text = `start a pod worker for ${podText(pod)}: managePodLoop reads its channel of one update`;
    this.note(text, 2, "UpdatePod");
  }

  /** @param isIdle the worker gets it at once; else it is kept, and `merged` reports those that it replaces */
  delivers({ pod, updateType }: PodWork, isIdle: boolean): void {
    const text = isIdle
      ? `pass the update of ${podText(pod)} (${updateType}) to its worker, which is idle`
      : `keep the update of ${podText(pod)} (${updateType}) in lastUndeliveredWorkUpdate: its worker is busy`;
    this.note(text, 2, "UpdatePod");
  }

  merged({ pod, updateType, merged }: PodWork): void {
    const why = `its worker is busy; of ${merged} waiting updates it will get only the newest`;
    this.decision(`merge the update of ${podText(pod)} (${updateType})`, why, "UpdatePod", { level: 2 });
  }

  /** @param next the update that has waited; undefined: the worker is idle */
  completes(pod: V1Pod, next: PodWork | undefined): void {
    const text =
      next === undefined
        ? `the worker of ${podText(pod)} is idle: no update waits`
        : `pass the waiting update of ${podText(pod)} (${next.updateType}) to its worker`;
    this.note(text, 3, "completeWorkQueueNext");
  }

  cancels(pod: V1Pod): void {
    const why = "it must end, or end sooner than before";
    this.decision(`cancel the running sync of ${podText(pod)}`, why, "UpdatePod");
  }

  acknowledgesTerminating(pod: V1Pod): void {
    const why = "its worker has seen that the pod must end: syncPod will not be called again";
    this.decision(`start no more containers of ${podText(pod)}`, why, "acknowledgeTerminating");
  }

  waitsForName(pod: V1Pod, startedUid: string | undefined): void {
    const why = `another static pod of that name (uid ${startedUid ?? "?"}) has not finished`;
    this.decision(`do not start ${podText(pod)} (uid ${pod.metadata.uid}) yet`, why, "allowPodStart");
  }

  calls({ workType, pod, merged, updateType }: PodWork): void {
    const func: Record<PodWorkType, string> = {
      sync: "syncPod",
      terminating: "syncTerminatingPod",
      terminated: "syncTerminatedPod",
    };
    const updates = merged > 1 ? `the newest of ${merged} updates` : "the update";
    this.decision(`${func[workType]} ${podText(pod)}`, `${updates} for its worker (${updateType})`, "managePodLoop", {
      level: 2,
    });
  }

  /** @param failure undefined: the sync was cancelled @returns the id of the fact */
  retries(
    pod: V1Pod,
    delayMs: number,
    failure: string | undefined,
    period: BackOffPeriod,
    kubeVersion: string,
  ): string {
    const what = `sync ${podText(pod)} again in ${(delayMs / 1000).toFixed(1)} s at the latest`;
    const why = failure === undefined ? "its sync was cancelled: newer work waits" : `its sync failed: ${failure}`;
    const constants = constantsFor(kubeVersion, period, "podWorkerBackOffJitterFactor");
    return this.decision(what, why, "completeWork", { level: failure === undefined ? 2 : 1, constants });
  }

  forgets(podUid: string, restartRequested: boolean): void {
    const why = restartRequested
      ? "another pod with the same uid waits to start"
      : "it has finished, and no source has it any more";
    this.decision(`forget pod ${podUid}`, why, "removeTerminatedWorker", { level: 2 });
  }
}
