import { nodeCondition, taintText } from "../../staging/apimachinery/api/node.js";
import type { NodeContext, ProgressText } from "../../testbed/context.js";
import type { PreparedNode } from "../../testbed/node/join.js";
import {
  type NodeObserver,
  type NodeView,
  type PodObject,
  taintsOf,
  tolerationSeconds,
} from "../../testbed/outage/node-observer.js";
import type { Clock } from "../../util/clock.js";
import { durationText } from "../../util/release/fact.js";
import { factFor } from "../../util/release/facts.js";
import { withStatus } from "../inspector/key-table.js";
import type { StatusTable } from "../inspector/status-table.js";

export interface LeaseStatusDeps {
  readonly agent: Pick<PreparedNode["agent"], "lastHeartbeatMs">;
  readonly observer: Pick<NodeObserver, "nodeName" | "view">;
  readonly clock: Pick<Clock, "now">;
  readonly kubeVersion: string;
}

/** How the cluster sees a node: its last heartbeat, its condition, its taints, its pods. */
export function leaseStatus({ agent, observer, clock, kubeVersion }: LeaseStatusDeps): StatusTable {
  const { nodeName, view } = observer;
  const nowMs = clock.now();
  const rows = [
    ["heartbeat", heartbeatText(agent.lastHeartbeatMs, factFor("nodeMonitorGracePeriod", kubeVersion), nowMs)],
    [`node ${nodeName}`, readyText(view)],
    ["taints", taintsOf(view.node).map(taintText).join(", ") || "none"],
    ...[...view.pods].map(([key, pod]) => [`pod ${key}`, podState(key, pod, view, nowMs)]),
  ];
  return { title: `Node ${nodeName}:`, columns: ["what", "state"], rows };
}

function heartbeatText(lastMs: number | undefined, graceMs: number, nowMs: number): string {
  if (lastMs === undefined) return "none yet";
  const silentMs = Math.max(0, nowMs - lastMs);
  const leftMs = graceMs - silentMs;
  const rest = leftMs > 0 ? `the grace period ends in ${seconds(leftMs)}` : "the grace period is over";
  return `${seconds(silentMs)} ago; ${rest}`;
}

function seconds(ms: number): string {
  return durationText(Math.round(ms / 1000) * 1000);
}

function readyText({ node }: NodeView): string {
  const ready = node && nodeCondition(node, "Ready");
  return ready === undefined ? "not registered" : `Ready ${ready.status} (${ready.reason})`;
}

function podState(key: string, pod: PodObject, view: NodeView, nowMs: number): string {
  if (view.evicted.has(key)) return "evicted; it stays until its node reports its end";
  const taints = taintsOf(view.node);
  const tolerated = tolerationSeconds(pod, taints);
  if (tolerated === undefined) return "stays";
  const since = taints.flatMap(({ effect, timeAdded }) =>
    effect === "NoExecute" && typeof timeAdded === "string" ? [Date.parse(timeAdded)] : [],
  );
  const leftMs = Math.min(nowMs, ...since) + tolerated * 1000 - nowMs;
  return `is evicted in ${seconds(Math.max(0, leftMs))}`;
}

/** The context with a table of states above each of its progress lines. */
export function withStatusAbove(context: NodeContext, status: () => StatusTable): NodeContext {
  const above = (text: ProgressText) => (columns: number) =>
    withStatus(status, columns, typeof text === "string" ? text.slice(0, columns) : text(columns));
  return {
    random: context.random,
    signal: context.signal,
    confirm: (question, options) => context.confirm(question, options),
    progress: (text) => {
      const line = context.progress(above(text));
      return { ...line, update: (next) => line.update(above(next)) };
    },
  };
}
