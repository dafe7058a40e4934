import { type FilterPlugin, NODE_EVENTS, type Rejection } from "../framework.js";
import { nodeNameOf } from "../objects.js";

const REJECTION: Rejection = {
  code: "UnschedulableAndUnresolvable",
  plugin: "NodeName",
  reasons: ["node(s) didn't match the requested node name"],
};

/**
 * A pod that names its node runs only there. The scheduler never gets such a pod, because it is bound already;
 * preemption and other trial runs need this filter.
 * Mirrors pkg/scheduler/framework/plugins/nodename/node_name.go.
 */
export const NODE_NAME: FilterPlugin = {
  name: "NodeName",
  events: NODE_EVENTS,
  skips: ({ pod }) => nodeNameOf(pod) === "",
  filter({ pod }, { name }) {
    const wanted = nodeNameOf(pod);
    return wanted === "" || wanted === name ? undefined : REJECTION;
  },
};
