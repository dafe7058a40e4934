import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { BasicWorkQueue } from "../podworkers/work-queue.js";
import type { DuePod } from "./sync-loop.js";

export interface PodsToSyncDeps {
  readonly workQueue: Pick<BasicWorkQueue, "getWork">;
  readonly podManager: { getPods(): readonly V1Pod[] };
  readonly activeDeadline: { shouldSync(pod: V1Pod): boolean };
}

/** The pods that are due, with what made them due. Mirrors getPodsToSync in pkg/kubelet/kubelet.go. */
export function getPodsToSync({ workQueue, podManager, activeDeadline }: PodsToSyncDeps): DuePod[] {
  const due = new Map(workQueue.getWork().map(({ podUid, scope }) => [podUid, scope]));
  const pods = podManager.getPods().filter((pod) => due.has(pod.metadata.uid) || activeDeadline.shouldSync(pod));
  return pods.map((pod) => ({ pod, scope: due.get(pod.metadata.uid) }));
}
