import { type FilterPlugin, NODE_EVENTS, type Rejection } from "../framework.js";

const REJECTION: Rejection = {
  code: "Unschedulable",
  plugin: "NodePorts",
  reasons: ["node(s) didn't have free ports for the requested pod ports"],
};

/**
 * Two pods cannot use the same host port of one node.
 * Mirrors pkg/scheduler/framework/plugins/nodeports/node_ports.go.
 */
export const NODE_PORTS: FilterPlugin = {
  name: "NodePorts",
  events: [...NODE_EVENTS, "AssignedPodDelete"],
  skips: ({ hostPorts }) => hostPorts.length === 0,
  filter: ({ hostPorts }, node) => (hostPorts.some((port) => node.usedPorts.hasConflict(port)) ? REJECTION : undefined),
};
