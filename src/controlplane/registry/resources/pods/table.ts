import type { KubeObject } from "../../../../apimachinery/api/meta.js";
import { isSet } from "../../../../util/records.js";
import type { TableDefinition, TableRowCondition } from "../../definition.js";
import { bool, type Fields, fields, items, number, text } from "../access.js";
import { AGE_COLUMN, ageOf, column, humanDuration, NAME_COLUMN, NONE, nameOf, orNone, timeMs } from "../cells.js";
import { isGated } from "./scheduling-gates.js";

/** What `kubectl get pods` shows. Mirrors printPod in pkg/printers/internalversion/printers.go. */

interface Summary {
  readonly reason: string;
  readonly readyCount: number;
  readonly restarts: number;
  readonly lastRestartMs: number | undefined;
}

function summarize(pod: KubeObject): Summary {
  const status = fields(pod.status);
  const phase = text(status.phase);
  const said = text(status.reason) === "" ? phase : text(status.reason);
  const reason = isGated(status) ? "SchedulingGated" : said;
  const { starting, sidecars } = summarizeInit(pod);
  const summary = starting ?? summarizeContainers(status, reason, sidecars);
  if (pod.metadata.deletionTimestamp === undefined) return summary;
  return { ...summary, reason: status.reason === "NodeLost" ? "Unknown" : "Terminating" };
}

/** What sidecars, which go on beside the containers, add to the counts of these. */
type SidecarCounts = Omit<Summary, "reason">;

/** @returns starting: undefined once all init containers are through, or a sidecar is the only one that is not */
function summarizeInit(pod: KubeObject): { readonly starting: Summary | undefined; readonly sidecars: SidecarCounts } {
  const { names, total } = initContainersOf(pod);
  const status = fields(pod.status);
  let restarts = 0;
  let lastRestartMs: number | undefined;
  let sidecars: SidecarCounts = { readyCount: 0, restarts: 0, lastRestartMs: undefined };
  for (const [index, container] of items(status.initContainerStatuses).map(fields).entries()) {
    const restartCount = number(container.restartCount) ?? 0;
    restarts += restartCount;
    lastRestartMs = later(lastRestartMs, terminatedAt(container));
    const isSidecar = names.has(text(container.name));
    if (isSidecar) {
      sidecars = {
        ...sidecars,
        restarts: sidecars.restarts + restartCount,
        lastRestartMs: later(sidecars.lastRestartMs, terminatedAt(container)),
      };
    }
    const { terminated } = fields(container.state);
    if (isSet(terminated) && (number(fields(terminated).exitCode) ?? 0) === 0) continue;
    if (isSidecar && bool(container.started) === true) {
      if (bool(container.ready) === true) sidecars = { ...sidecars, readyCount: sidecars.readyCount + 1 };
      continue;
    }
    // A pod that was initialized stays so, although a sidecar of it is started again.
    if (names.size > 0 && hasCondition(status, "Initialized")) break;
    const reason = `Init:${initReason(container) ?? `${index}/${total}`}`;
    return { starting: { readyCount: sidecars.readyCount, restarts, lastRestartMs, reason }, sidecars };
  }
  return { starting: undefined, sidecars };
}

/** @returns names of the sidecars, and how many init containers there are in all */
function initContainersOf(pod: KubeObject): { readonly names: ReadonlySet<string>; readonly total: number } {
  const all = items(fields(pod.spec).initContainers).map(fields);
  const names = all.filter((one) => one.restartPolicy === "Always").map((one) => text(one.name));
  return { names: new Set(names), total: all.length };
}

/** @returns undefined: it runs, or is about to */
function initReason({ state }: Fields): string | undefined {
  const { terminated, waiting } = fields(state);
  if (isSet(terminated)) return terminationReason(fields(terminated));
  const why = text(fields(waiting).reason);
  return why === "" || why === "PodInitializing" ? undefined : why;
}

function terminationReason(terminated: Fields): string {
  const reason = text(terminated.reason);
  if (reason !== "") return reason;
  const signal = number(terminated.signal) ?? 0;
  return signal !== 0 ? `Signal:${signal}` : `ExitCode:${number(terminated.exitCode) ?? 0}`;
}

/** The first container's trouble wins: the loop runs backwards, and later finds overwrite. */
function summarizeContainers(status: Fields, before: string, sidecars: SidecarCounts): Summary {
  let reason = before;
  let hasRunning = false;
  let { readyCount, restarts, lastRestartMs } = sidecars;
  for (const container of items(status.containerStatuses).map(fields).reverse()) {
    restarts += number(container.restartCount) ?? 0;
    lastRestartMs = later(lastRestartMs, terminatedAt(container));
    const { waiting, terminated, running } = fields(container.state);
    const why = text(fields(waiting).reason);
    if (why !== "") reason = why;
    else if (isSet(terminated)) reason = terminationReason(fields(terminated));
    else if (bool(container.ready) === true && isSet(running)) {
      hasRunning = true;
      readyCount++;
    }
  }
  // A pod with a finished container beside a running one is not Completed.
  if (reason === "Completed" && hasRunning) reason = hasCondition(status, "Ready") ? "Running" : "NotReady";
  return { reason, readyCount, restarts, lastRestartMs };
}

function hasCondition(status: Fields, type: "Ready" | "Initialized"): boolean {
  return items(status.conditions)
    .map(fields)
    .some((one) => one.type === type && one.status === "True");
}

function terminatedAt(container: Fields): number | undefined {
  return timeMs(fields(fields(container.lastState).terminated).finishedAt);
}

function later(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || (b !== undefined && b > a) ? b : a;
}

function restartsCell({ restarts, lastRestartMs }: Summary, nowMs: number): string {
  if (restarts === 0 || lastRestartMs === undefined) return String(restarts);
  return `${restarts} (${humanDuration(nowMs - lastRestartMs)} ago)`;
}

function podIp(status: Fields): string {
  const [first] = items(status.podIPs);
  return orNone(first === undefined ? text(status.podIP) : text(fields(first).ip));
}

function readinessGatesCell(pod: KubeObject): string {
  const gates = items(fields(pod.spec).readinessGates).map((one) => text(fields(one).conditionType));
  if (gates.length === 0) return NONE;
  const conditions = items(fields(pod.status).conditions).map(fields);
  const passed = gates.filter((gate) => conditions.some((one) => one.type === gate && one.status === "True"));
  return `${passed.length}/${gates.length}`;
}

function podCells(pod: KubeObject, nowMs: number): unknown[] {
  const spec = fields(pod.spec);
  const status = fields(pod.status);
  const summary = summarize(pod);
  return [
    nameOf(pod),
    `${summary.readyCount}/${items(spec.containers).length + initContainersOf(pod).names.size}`,
    summary.reason,
    restartsCell(summary, nowMs),
    ageOf(pod, nowMs),
    podIp(status),
    orNone(text(spec.nodeName)),
    orNone(text(status.nominatedNodeName)),
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
    column("IP", "The pod's first address; none as long as it has no sandbox.", { wide: true }),
    column("Node", "The node that the pod is bound to.", { wide: true }),
    column("Nominated Node", "The node that room is being made on for this pod by preemption.", { wide: true }),
    column("Readiness Gates", "How many of the conditions that others must set are True.", { wide: true }),
  ],
  cells: podCells,
  conditions(pod) {
    const condition = COMPLETED[text(fields(pod.status).phase)];
    return condition === undefined ? [] : [condition];
  },
};
