import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { ProbeResult } from "../container/runtime-helper.js";
import { KubeletObserver } from "../types/observer.js";
import { podText } from "../types/pod-update.js";
import type { ProbeType } from "./spec.js";

/** Words the facts about probes. */
export class ProberObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/prober/worker.go";

  /** @param id of the fact, which the sync that the result leads to names as its cause */
  result(
    probe: { readonly pod: V1Pod; readonly container: { readonly name: string }; readonly type: ProbeType },
    from: ProbeResult | undefined,
    to: ProbeResult,
    id: string,
  ): void {
    const subject = `container ${probe.container.name} of ${podText(probe.pod)}`;
    this.state(subject, `${probe.type} probe`, to, "doProbe", { from, id });
  }

  workerFailed(what: string, error: unknown): void {
    this.error(`the ${what} ended: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }
}
