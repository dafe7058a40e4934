import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { messageOf } from "../../util/errors.js";
import { durationText } from "../../util/release/fact.js";
import { KubeletObserver } from "../types/observer.js";
import { podText } from "../types/pod-update.js";
import type { ShutdownGroup } from "./groups.js";

const FUNC = "processShutdownEvent";

/** Words the facts of a node's shutdown. */
export class NodeShutdownObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go";

  shuttingDown<T>(body: () => T): T {
    return this.step("Shut the node down", FUNC, body);
  }

  completed(): void {
    this.note("Shutdown manager completed processing shutdown event");
  }

  endsGroup({ priority, gracePeriodSeconds, pods }: ShutdownGroup): void {
    const what = `end ${pods.map(podText).join(", ")} within ${durationText(gracePeriodSeconds * 1000)}`;
    this.decision(what, `their priority is ${priority} or more; pods of a higher range come after them`, FUNC);
  }

  groupTimedOut({ priority, gracePeriodSeconds }: ShutdownGroup): void {
    this.note(`Shutdown manager pod killing time out: gracePeriod ${gracePeriodSeconds}, priority ${priority}`);
  }

  killFailed(pod: V1Pod, error: unknown): void {
    this.error(`Shutdown manager failed killing pod ${podText(pod)}: ${messageOf(error)}`);
  }

  statusesNotWritten(pods: readonly V1Pod[], patienceMs: number): void {
    const whose = pods.map(podText).join(", ");
    const hint = "The API server shows an older one until the node's next kubelet writes it.";
    this.error(`the last status of ${whose} was not written within ${durationText(patienceMs)}`, { hint });
  }
}
