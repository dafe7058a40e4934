import { type FilterPlugin, NODE_EVENTS, type Rejection } from "../framework.js";
import { nodeNameOf } from "../objects.js";

const REJECTION: Rejection = {
  code: "UnschedulableAndUnresolvable",
  plugin: "NodeName",
  reasons: ["node(s) didn't match the requested node name"],
};

/**
 * A pod that names its node runs there only. The scheduler is not asked for such pods (they are bound already): this is
 * for who tries out whether a pod fits.
 * Mirrors pkg/scheduler/framework/plugins/nodename/node_name.go.
 */
export const NODE_NAME: FilterPlugin = {
  name: "NodeName",
  events: NODE_EVENTS,
  filter({ pod }, { name }) {
    const wanted = nodeNameOf(pod);
    return wanted === "" || wanted === name ? undefined : REJECTION;
  },
};
