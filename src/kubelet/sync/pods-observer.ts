import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { messageOf } from "../../util/errors.js";
import { counted } from "../../util/text/counted.js";
import type { Pod, PodStatus } from "../container/runtime.js";
import { KubeletObserver } from "../types/observer.js";
import { podText, type SyncPodType } from "../types/pod-update.js";

const PODS_FILE = "pkg/kubelet/kubelet_pods.go";
const DELETOR_FILE = "pkg/kubelet/pod_container_deletor.go";

/** Words what happens to pods between their sources and the runtime. */
export class PodsObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/kubelet.go";

  syncing<T>(pod: V1Pod, body: () => T): T {
    return this.step(`Sync pod ${podText(pod)}`, "syncPod", body);
  }

  ending<T>(pod: V1Pod, gracePeriodSeconds: number | undefined, body: () => T): T {
    const grace = gracePeriodSeconds === undefined ? "" : `, with ${gracePeriodSeconds} s of grace`;
    return this.step(`End pod ${podText(pod)}${grace}`, "syncTerminatingPod", body);
  }

  cleaningUp<T>(pod: V1Pod, body: () => T): T {
    return this.step(`Clean up after pod ${podText(pod)}`, "syncTerminatedPod", body);
  }

  pullSecretMissing(secret: string): void {
    const message = `Unable to retrieve pull secret ${secret}, the image pull may not succeed.`;
    this.error(message, { level: 1 });
  }

  sourcesNotReady(pod: V1Pod): void {
    const why = "skipping delete because sources aren't ready yet";
    this.decision(`do not end ${podText(pod)} yet`, why, "deletePod");
  }

  admitted(pod: V1Pod, others: number): void {
    const text = `no admit handler refuses ${podText(pod)} beside the node's ${counted(others, "active pod")}`;
    this.note(text, 2, "canAdmitPod");
  }

  dispatches(pod: V1Pod, updateType: SyncPodType): void {
    this.note(`dispatch ${podText(pod)} to its pod worker (${updateType})`, 2, "dispatchWork");
  }

  madeDataDirs(pod: V1Pod, folder: string): void {
    this.note(`create the data directories of ${podText(pod)}: ${folder}`, 2, "makePodDataDirs", PODS_FILE);
  }

  rejected(pod: V1Pod, reason: string, message: string): void {
    this.decision(`do not run ${podText(pod)}: ${reason}`, message, "rejectPod");
  }

  notReclaimed(pod: V1Pod, why: string): void {
    const what = `do not delete ${podText(pod)} from the API yet`;
    this.decision(what, why, "PodResourcesAreReclaimed", { level: 2, file: PODS_FILE });
  }

  endsOrphan({ podUid, name, namespace }: Pod): void {
    const what = `Clean up orphaned pod containers: ${namespace}/${name} (uid ${podUid})`;
    this.decision(what, "it runs, and no source has it", "HandlePodCleanups", { file: PODS_FILE });
  }

  removedPodDir(podUid: string): void {
    const what = `Cleaned up orphaned pod volumes dir: ${podUid}`;
    const file = "pkg/kubelet/kubelet_volumes.go";
    this.decision(what, "no pod of this uid is left", "cleanupOrphanedPodDirs", { level: 2, file });
  }

  podDirNotRemoved(podUid: string, error: unknown): void {
    const message = `Failed to clean up the folder of pod ${podUid}: ${messageOf(error)}`;
    this.error(message, { hint: "It is tried again.", level: 2 });
  }

  /** @param kept how many of each name; undefined: the pod is over */
  removesContainers(count: number, { namespace, name }: PodStatus, kept: number | undefined): void {
    const who = `${namespace}/${name}`;
    const what = `remove ${counted(count, "dead container")} of ${who}`;
    const why = kept === undefined ? "the pod is over" : `a newer one has ended: ${kept} of each name is kept`;
    this.decision(what, why, "deleteContainersInPod", { level: 2, file: DELETOR_FILE });
  }

  containerNotRemoved(error: unknown): void {
    this.error(`DeleteContainer returned error: ${messageOf(error)}`, { level: 2 });
  }
}
