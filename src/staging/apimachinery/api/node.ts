import type * as api from "@kubernetes/client-node";
import type { Wire } from "../wire.js";

export type NodeObject = Wire<api.V1Node>;
export type NodeStatus = Wire<api.V1NodeStatus>;
export type NodeCondition = Wire<api.V1NodeCondition>;
export type NodeAddress = Wire<api.V1NodeAddress>;
export type Taint = Wire<api.V1Taint>;

/** Mirrors GetNodeCondition. */
export function nodeCondition(node: NodeObject, type: string): NodeCondition | undefined {
  return node.status?.conditions?.find((condition) => condition.type === type);
}

/** `node.kubernetes.io/unreachable:NoExecute` */
export function taintText({ key, value = "", effect }: Taint): string {
  return `${key}${value === "" ? "" : `=${value}`}:${effect}`;
}
