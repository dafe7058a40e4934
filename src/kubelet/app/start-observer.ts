import { messageOf } from "../../util/errors.js";
import { KubeletObserver } from "../types/observer.js";
import type { KubeletModule } from "./modules.js";

/** Words the facts about a kubelet's start and end. */
export class StartObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/kubelet.go";

  version(kubeVersion: string): void {
    const text = `Kubelet version kubeletVersion="v${kubeVersion}.0"`;
    this.note(text, 2, "Run", "cmd/kubelet/app/server.go");
  }

  /** Reports what starts, by which upstream function and at which period, and what is not here. Call it when they start. */
  modules(modules: readonly KubeletModule[]): void {
    for (const { name, func, when, isAbsent, file = this.file } of modules) {
      this.state(name, isAbsent === true ? "not here," : "starts", when, func, { level: 2, file });
    }
  }

  starting<T>(nodeName: string, body: () => T): T {
    return this.step(`Start the kubelet of ${nodeName}`, "Run", body);
  }

  notRegistered(): void {
    const why =
      "registerNode is false: another client creates the Node; until then the status and the Lease cannot be written";
    this.decision("do not register", why, "syncNodeStatus", { file: "pkg/kubelet/kubelet_node_status.go" });
  }

  notReady(problems: readonly string[]): void {
    const hint = "It registers as NotReady; the kubelet writes its status as soon as that changes.";
    this.error(`the node is not ready: ${problems.join(", ")}`, { hint });
  }

  ended(error: unknown): void {
    this.error(messageOf(error), { level: 2 });
  }
}
