import { tolerates } from "../../../staging/apimachinery/corev1/tolerations.js";
import { type FilterPlugin, NODE_EVENTS, type Rejection } from "../framework.js";

const TAINT = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" } as const;
const REJECTION: Rejection = {
  code: "UnschedulableAndUnresolvable",
  plugin: "NodeUnschedulable",
  reasons: ["node(s) were unschedulable"],
};

/**
 * Keeps pods off cordoned nodes, unless they tolerate the taint of a cordon.
 * Mirrors pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go.
 */
export const NODE_UNSCHEDULABLE: FilterPlugin = {
  name: "NodeUnschedulable",
  events: NODE_EVENTS,
  filter({ pod }, { node }) {
    if (node?.spec?.unschedulable !== true) return undefined;
    return (pod.spec?.tolerations ?? []).some((one) => tolerates(one, TAINT)) ? undefined : REJECTION;
  },
};
