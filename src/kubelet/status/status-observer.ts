import type { V1Pod, V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import { KubeletObserver } from "../types/observer.js";
import { podText } from "../types/pod-update.js";

const SETTER = { readiness: "SetContainerReadiness", startup: "SetContainerStartup" } as const;

/** Words the facts of pod statuses. */
export class StatusObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/status/status_manager.go";

  /** Reports a pod's new phase. */
  phase(pod: V1Pod, from: V1PodStatus["phase"], to: V1PodStatus["phase"], func: string): void {
    if (to !== undefined && from !== to) this.state(`pod ${podText(pod)}`, "phase", to, func, { from });
  }

  ignoresProbe(what: keyof typeof SETTER, containerId: string, pod: V1Pod, isSynced: boolean): void {
    const why = isSynced ? "no container of the pod has this ID" : "the pod has not been synced yet";
    this.decision(`ignore the ${what} of ${containerId} in ${podText(pod)}`, why, SETTER[what], { level: 2 });
  }

  statusRejected(pod: V1Pod, why: string): void {
    this.#failed(`the status of ${podText(pod)} is rejected: ${why}`);
  }

  /** @returns the id of the fact */
  newVersion(pod: V1Pod, version: number, func: string): string {
    const what = `version ${version} of the status of ${podText(pod)}`;
    return this.decision(what, "it differs from the previous one", func, { level: 2 });
  }

  leftToBatch(pod: V1Pod, func: string): void {
    this.decision(`leave the status of ${podText(pod)} to the next batch`, "the channel is full", func, { level: 2 });
  }

  /** @param pod `default/web` */
  forgets(pod: string, podUid: string, uidInApi: string): void {
    const why = `the API has another pod of that name (uid ${uidInApi})`;
    this.decision(`forget the status of ${pod} (uid ${podUid})`, why, "syncPod");
  }

  /** @param pod `default/web` */
  removesOrphan(pod: string, podUid: string): void {
    const text = `remove the status of ${pod}: no pod and no mirror pod has uid ${podUid} any more`;
    this.note(text, 2, "RemoveOrphanedStatuses");
  }

  deletesPod(pod: string): void {
    this.decision(`delete ${pod} from the API`, "it has ended, and nothing of it is left on the node", "syncPod");
  }

  podGone(pod: string): void {
    const why = "the API has no such pod any more";
    this.decision(`do not send the status of ${pod}`, why, "syncPod", { level: 2 });
  }

  notSent(pod: string, why: string): void {
    this.#failed(`the status of ${pod} was not sent: ${why}`);
  }

  refused(method: string, pod: string, why: string): void {
    this.#failed(`${method} for the status of ${pod} was refused: ${why}`);
  }

  sendsAgain(pod: V1Pod): void {
    const why = "the API server's status differs from the one that was sent: the kubelet's is the true one";
    this.decision(`send the status of ${podText(pod)} again`, why, "needsReconcile");
  }

  #failed(message: string): void {
    this.error(message, { hint: "It is tried again.", level: 1 });
  }
}
