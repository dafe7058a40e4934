import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { KubeletObserver } from "../types/observer.js";
import { podText } from "../types/pod-update.js";

/** Words the facts of mirror pods. */
export class MirrorObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/pod/mirror_client.go";

  replaces(pod: V1Pod, why: string): void {
    this.decision(`replace the mirror pod ${podText(pod)}`, why, "syncPod", { file: "pkg/kubelet/kubelet.go" });
  }

  nameTaken(pod: V1Pod, answer: string): void {
    const why = `the API already has a pod of that name: ${answer}`;
    this.decision(`leave the mirror pod ${podText(pod)} as it is for now`, why, "CreateMirrorPod");
  }

  creates(pod: V1Pod, hash: string, why: string): void {
    const reason = `of the static pod with hash ${hash}: ${why}`;
    this.decision(`create the mirror pod ${podText(pod)}`, reason, "CreateMirrorPod");
  }

  deleted(namespace: string, name: string, why: string): void {
    this.decision(`delete the mirror pod ${namespace}/${name}`, why, "DeleteMirrorPod");
  }

  failed(what: "create" | "delete", pod: string, why: string): void {
    this.error(`could not ${what} the mirror pod ${pod}: ${why}`, {
      hint: "The pod's next sync tries again.",
      level: 1,
    });
  }
}
