import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { counted } from "../../util/text/counted.js";
import { KubeletObserver } from "../types/observer.js";
import { podText } from "../types/pod-update.js";

/** Words the facts of volumes, and of the tokens in them. */
export class VolumeObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/volumemanager/volume_manager.go";

  setUp(name: string, pod: V1Pod, to: "mounted" | "updated"): void {
    const file = "pkg/volume/util/operationexecutor/operation_generator.go";
    this.state(`volume ${name} of ${podText(pod)}`, "volume", to, "GenerateMountVolumeFunc", { level: 2, file });
  }

  allMounted(pod: V1Pod, count: number): void {
    const text = `all is attached and mounted for ${podText(pod)}: ${counted(count, "volume")}`;
    this.note(text, 2, "WaitForAttachAndMount");
  }

  removed(pod: V1Pod): void {
    this.state(`volumes of ${podText(pod)}`, "volumes", "removed", "WaitForUnmount", { level: 2 });
  }

  gotToken(account: string, pod: V1Pod, refreshInMs: number, isLongLived: boolean): void {
    const minutes = Math.round(refreshInMs / 60_000);
    const what = `a token of service account ${pod.metadata.namespace}/${account} for ${podText(pod)}: replace it in ${minutes} min`;
    const why = `soon after, ${isLongLived ? "it is a day old" : "only a fifth of its lifetime is left"}`;
    this.decision(what, why, "requiresRefresh", { level: 2, file: "pkg/kubelet/token/token_manager.go" });
  }
}
