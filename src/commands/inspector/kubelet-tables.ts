import type { RemoteControl } from "../../cluster/runtime/control/control.js";
import type { Kubelet } from "../../kubelet/app/kubelet.js";
import type { PodWorkerView } from "../../kubelet/podworkers/pod-workers.js";
import type { PodWork } from "../../kubelet/podworkers/update.js";
import { labTargets } from "../../testbed/runtime/lab-targets.js";
import { leaseTable } from "./lease-table.js";
import { plegRecords } from "./pleg-records.js";
import type { StatusTable } from "./status-table.js";

/** A kubelet and its embedded runtime, if it has one. */
export interface ShownKubelet {
  readonly parts: Kubelet;
  readonly runtime: { readonly control: RemoteControl } | undefined;
}

/** The state of a kubelet for its live page: PLEG's records, pod workers, probes, the lease. Tables without rows are left out. */
export async function kubeletTables({ parts, runtime }: ShownKubelet): Promise<StatusTable[]> {
  const targets = runtime === undefined ? undefined : await labTargets(runtime.control);
  const { latest } = parts.deps.agent.lease;
  const tables = [
    plegRecords(parts.pleg.listedPods(), targets),
    podWorkers(parts.podWorkers.views()),
    probes(parts),
    leaseTable(latest === undefined ? [] : [latest]),
  ];
  return tables.filter(({ rows }) => rows.length > 0);
}

/**
 * Each pod worker with its work and its waiting update. Pure.
 * @param isHeld whether the pod's worker waits until a learner releases it
 */
export function podWorkers(
  views: readonly PodWorkerView[],
  isHeld: (podUid: string) => boolean = () => false,
): StatusTable {
  const rows = views.map((view) => {
    const { fullName, phase, pending } = view;
    const pod = fullName.replace(/^(.*)_(.*)$/, "$2/$1");
    return [pod, phase, activityText(view, isHeld), pending === undefined ? "" : workText(pending)];
  });
  return { title: "Pod workers", columns: ["pod", "state", "worker", "next"], rows };
}

function activityText({ podUid, activity }: PodWorkerView, isHeld: (podUid: string) => boolean): string {
  if (activity.kind === "cache") return isHeld(podUid) ? "held" : "waits";
  return activity.kind === "idle" ? "idle" : workText(activity.work);
}

/** `sync (3 merged, update)` */
export function workText({ workType, updateType, merged }: PodWork): string {
  return `${workType} (${merged > 1 ? `${merged} merged, ` : ""}${updateType})`;
}

function probes({ prober }: Kubelet): StatusTable {
  const rows = prober.views().map(({ pod, container, type, result, last, periodSeconds }) => {
    const probed = last === undefined ? "not probed yet" : `${last.result}, ${last.count} in a row`;
    return [`${pod} ${container}`, `${type}, every ${periodSeconds} s`, probed, result ?? ""];
  });
  return { title: "Probes", columns: ["container", "probe", "last probes", "holds now"], rows };
}
