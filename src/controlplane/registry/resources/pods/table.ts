import type { KubeObject } from "../../../../api/meta.js";
import type { TableDefinition, TableRowCondition } from "../../definition.js";
import { bool, type Fields, fields, isSet, items, number, text } from "../access.js";
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
  const starting = summarizeInit(pod);
  const summary = starting ?? summarizeContainers(status, reason);
  if (pod.metadata.deletionTimestamp === undefined) return summary;
  return { ...summary, reason: status.reason === "NodeLost" ? "Unknown" : "Terminating" };
}

/** @returns undefined once all init containers are through */
function summarizeInit(pod: KubeObject): Summary | undefined {
  const total = items(fields(pod.spec).initContainers).length;
  const statuses = items(fields(pod.status).initContainerStatuses).map(fields);
  let restarts = 0;
  let lastRestartMs: number | undefined;
  for (const [index, container] of statuses.entries()) {
    restarts += number(container.restartCount) ?? 0;
    lastRestartMs = later(lastRestartMs, terminatedAt(container));
    const { terminated, waiting } = fields(container.state);
    if (isSet(terminated) && (number(fields(terminated).exitCode) ?? 0) === 0) continue;
    const summary = { readyCount: 0, restarts, lastRestartMs };
    if (isSet(terminated)) return { ...summary, reason: `Init:${terminationReason(fields(terminated))}` };
    const why = text(fields(waiting).reason);
    if (why !== "" && why !== "PodInitializing") return { ...summary, reason: `Init:${why}` };
    return { ...summary, reason: `Init:${index}/${total}` };
  }
  return undefined;
}

function terminationReason(terminated: Fields): string {
  const reason = text(terminated.reason);
  if (reason !== "") return reason;
  const signal = number(terminated.signal) ?? 0;
  return signal !== 0 ? `Signal:${signal}` : `ExitCode:${number(terminated.exitCode) ?? 0}`;
}

/** The first container's trouble wins: the loop runs backwards, and later finds overwrite. */
function summarizeContainers(status: Fields, before: string): Summary {
  let reason = before;
  let hasRunning = false;
  let readyCount = 0;
  let restarts = 0;
  let lastRestartMs: number | undefined;
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
  if (reason === "Completed" && hasRunning) reason = hasReadyCondition(status) ? "Running" : "NotReady";
  return { reason, readyCount, restarts, lastRestartMs };
}

function hasReadyCondition(status: Fields): boolean {
  return items(status.conditions)
    .map(fields)
    .some((one) => one.type === "Ready" && one.status === "True");
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
    `${summary.readyCount}/${items(spec.containers).length}`,
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
