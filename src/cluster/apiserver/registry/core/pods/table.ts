import type { V1Pod } from "@kubernetes/client-node";
import { nameOf } from "../../../../../staging/apimachinery/api/objects.js";
import type {
  V1ContainerState,
  V1ContainerStateTerminated,
  V1ContainerStatus,
  V1PodStatus,
} from "../../../../../staging/apimachinery/api/pod.js";
import { humanDuration } from "../../../../../staging/apimachinery/duration.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../../util/records.js";
import { AGE_COLUMN, ageOf, column, NAME_COLUMN, NONE, orNone, timeMs } from "../../rest/cells.js";
import type { TableDefinition, TableRowCondition } from "../../rest/definition.js";
import { isGated } from "./scheduling-gates.js";

/** The columns of `kubectl get pods`. Mirrors printPod in pkg/printers/internalversion/printers.go. */

interface Summary {
  readonly reason: string;
  readonly readyCount: number;
  readonly restarts: number;
  readonly lastRestartMs: number | undefined;
}

function summarize(pod: Wire<V1Pod>): Summary {
  const { status = {} } = pod;
  const reason = isGated(status) ? "SchedulingGated" : status.reason || status.phase || "";
  const { starting, sidecars } = summarizeInit(pod);
  const summary = starting ?? summarizeContainers(status, reason, sidecars);
  if (pod.metadata.deletionTimestamp === undefined) return summary;
  return { ...summary, reason: status.reason === "NodeLost" ? "Unknown" : "Terminating" };
}

/** What sidecars add to the counts of the containers. */
type SidecarCounts = Omit<Summary, "reason">;

/** @returns starting: undefined once all init containers except sidecars have completed */
function summarizeInit(pod: Wire<V1Pod>): { readonly starting: Summary | undefined; readonly sidecars: SidecarCounts } {
  const { names, total } = initContainersOf(pod);
  const { status = {} } = pod;
  let restarts = 0;
  let lastRestartMs: number | undefined;
  let sidecars: SidecarCounts = { readyCount: 0, restarts: 0, lastRestartMs: undefined };
  for (const [index, container] of (status.initContainerStatuses ?? []).entries()) {
    const { restartCount } = container;
    restarts += restartCount;
    lastRestartMs = later(lastRestartMs, terminatedAt(container));
    const isSidecar = names.has(container.name);
    if (isSidecar) {
      sidecars = {
        ...sidecars,
        restarts: sidecars.restarts + restartCount,
        lastRestartMs: later(sidecars.lastRestartMs, terminatedAt(container)),
      };
    }
    if (container.state?.terminated?.exitCode === 0) continue;
    if (isSidecar && container.started === true) {
      if (container.ready) sidecars = { ...sidecars, readyCount: sidecars.readyCount + 1 };
      continue;
    }
    // A pod that was initialized stays initialized when one of its sidecars restarts.
    if (names.size > 0 && hasCondition(status, "Initialized")) break;
    const reason = `Init:${initReason(container.state ?? {}) ?? `${index}/${total}`}`;
    return { starting: { readyCount: sidecars.readyCount, restarts, lastRestartMs, reason }, sidecars };
  }
  return { starting: undefined, sidecars };
}

/** @returns names of the sidecars, and the number of all init containers */
function initContainersOf({ spec }: Wire<V1Pod>): { readonly names: ReadonlySet<string>; readonly total: number } {
  const all = spec?.initContainers ?? [];
  const names = all.filter(({ restartPolicy }) => restartPolicy === "Always").map(({ name }) => name);
  return { names: new Set(names), total: all.length };
}

/** @returns undefined for a container that runs or is about to run */
function initReason({ terminated, waiting }: V1ContainerState): string | undefined {
  if (isSet(terminated)) return terminationReason(terminated);
  const why = waiting?.reason ?? "";
  return why === "" || why === "PodInitializing" ? undefined : why;
}

function terminationReason({ reason = "", signal = 0, exitCode }: V1ContainerStateTerminated): string {
  if (reason !== "") return reason;
  return signal !== 0 ? `Signal:${signal}` : `ExitCode:${exitCode}`;
}

/** The first container's problem wins: the loop runs backwards and overwrites earlier findings. */
function summarizeContainers(status: V1PodStatus, before: string, sidecars: SidecarCounts): Summary {
  let reason = before;
  let hasRunning = false;
  let { readyCount, restarts, lastRestartMs } = sidecars;
  for (const container of [...(status.containerStatuses ?? [])].reverse()) {
    restarts += container.restartCount;
    lastRestartMs = later(lastRestartMs, terminatedAt(container));
    const { waiting, terminated, running } = container.state ?? {};
    if (isSet(waiting?.reason) && waiting.reason !== "") reason = waiting.reason;
    else if (isSet(terminated)) reason = terminationReason(terminated);
    else if (container.ready && isSet(running)) {
      hasRunning = true;
      readyCount++;
    }
  }
  // A pod with both a finished and a running container is not Completed.
  if (reason === "Completed" && hasRunning) reason = hasCondition(status, "Ready") ? "Running" : "NotReady";
  return { reason, readyCount, restarts, lastRestartMs };
}

function hasCondition({ conditions }: V1PodStatus, type: "Ready" | "Initialized"): boolean {
  return (conditions ?? []).some((one) => one.type === type && one.status === "True");
}

function terminatedAt({ lastState }: V1ContainerStatus): number | undefined {
  return timeMs(lastState?.terminated?.finishedAt);
}

function later(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || (b !== undefined && b > a) ? b : a;
}

function restartsCell({ restarts, lastRestartMs }: Summary, nowMs: number): string {
  if (restarts === 0 || lastRestartMs === undefined) return String(restarts);
  return `${restarts} (${humanDuration(nowMs - lastRestartMs)} ago)`;
}

function podIp({ podIP = "", podIPs }: V1PodStatus): string {
  return orNone(podIPs?.[0]?.ip ?? podIP);
}

function readinessGatesCell({ spec, status }: Wire<V1Pod>): string {
  const gates = spec?.readinessGates ?? [];
  if (gates.length === 0) return NONE;
  const conditions = status?.conditions ?? [];
  const passed = gates.filter(({ conditionType }) =>
    conditions.some((one) => one.type === conditionType && one.status === "True"),
  );
  return `${passed.length}/${gates.length}`;
}

function podCells(pod: Wire<V1Pod>, nowMs: number): unknown[] {
  const { spec, status = {} } = pod;
  const summary = summarize(pod);
  return [
    nameOf(pod),
    `${summary.readyCount}/${(spec?.containers ?? []).length + initContainersOf(pod).names.size}`,
    summary.reason,
    restartsCell(summary, nowMs),
    ageOf(pod, nowMs),
    podIp(status),
    orNone(spec?.nodeName ?? ""),
    orNone(status.nominatedNodeName ?? ""),
    readinessGatesCell(pod),
  ];
}

const COMPLETED: Readonly<Record<string, TableRowCondition>> = {
  Succeeded: {
    type: "Completed",
    status: "True",
    reason: "Succeeded",
    message: "The pod has completed successfully.",
  },
  Failed: { type: "Completed", status: "True", reason: "Failed", message: "The pod failed." },
};

export const POD_TABLE: TableDefinition = {
  columns: [
    NAME_COLUMN,
    column("Ready", "The aggregate readiness state of this pod for accepting traffic."),
    column("Status", "The aggregate status of the containers in this pod."),
    column(
      "Restarts",
      "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
    ),
    AGE_COLUMN,
    column("IP", "The pod's first address; none until it has a sandbox.", { wide: true }),
    column("Node", "The node that the pod is bound to.", { wide: true }),
    column("Nominated Node", "The node on which preemption makes room for this pod.", { wide: true }),
    column("Readiness Gates", "The number of readiness gates that are True.", { wide: true }),
  ],
  cells: podCells,
  conditions({ status }: Wire<V1Pod>) {
    const condition = COMPLETED[status?.phase ?? ""];
    return condition === undefined ? [] : [condition];
  },
};
