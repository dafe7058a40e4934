import { isDeepStrictEqual } from "node:util";
import { matchesRequiredNodeAffinity } from "../../staging/apimachinery/corev1/node-affinity.js";
import { findUntoleratedTaint } from "../../staging/apimachinery/corev1/tolerations.js";
import type { ClusterEvent } from "./framework.js";
import type { NodeInfo, PodInfo } from "./node-info.js";
import type { SchedulableNode } from "./objects.js";
import { NODE_NAME } from "./plugins/node-name.js";
import { NODE_PORTS } from "./plugins/node-ports.js";
import { fits } from "./plugins/node-resources-fit.js";

/**
 * The changes of a node that can make a pod schedulable. A heartbeat alone is not one.
 *
 * Mirrors nodeSchedulingPropertiesChange in pkg/scheduler/eventhandlers.go. Pure.
 * Differs: reports all changes, where v1.25 reports the first one; the result is the same, because v1.25's plugins
 * register for any change of a node.
 */
export function nodeChanges(now: SchedulableNode, before: SchedulableNode | undefined): readonly ClusterEvent[] {
  if (before === undefined) return ["NodeAdd"];
  const changes: ClusterEvent[] = [];
  const isUnschedulable = (node: SchedulableNode) => node.spec?.unschedulable === true;
  if (isUnschedulable(before) && !isUnschedulable(now)) changes.push("NodeSpecUnschedulableChange");
  const differs = (of: (node: SchedulableNode) => unknown) => !isDeepStrictEqual(of(before), of(now));
  if (differs(({ status }) => status?.allocatable)) changes.push("NodeAllocatableChange");
  if (differs(({ metadata }) => metadata.labels)) changes.push("NodeLabelChange");
  if (differs(({ spec }) => spec?.taints ?? [])) changes.push("NodeTaintChange");
  if (differs(conditionStatuses)) changes.push("NodeConditionChange");
  return changes;
}

function conditionStatuses({ status }: SchedulableNode): Readonly<Record<string, string>> {
  return Object.fromEntries((status?.conditions ?? []).map((one) => [one.type, one.status]));
}

const NO_SCHEDULE = new Set(["NoSchedule"] as const);

/**
 * Reports whether the pod could run on this node now. A change of the node only retries pods that could.
 * Mirrors preCheckForNode and AdmissionCheck in pkg/scheduler/eventhandlers.go. Pure.
 */
export function isWorthTrying(pod: PodInfo, node: NodeInfo): boolean {
  if (node.node === undefined || !fits(pod, node)) return false;
  if (!matchesRequiredNodeAffinity(pod.pod.spec, node.node)) return false;
  if (NODE_NAME.filter(pod, node) !== undefined || NODE_PORTS.filter(pod, node) !== undefined) return false;
  return findUntoleratedTaint(node.node.spec?.taints ?? [], pod.pod.spec?.tolerations ?? [], NO_SCHEDULE) === undefined;
}
