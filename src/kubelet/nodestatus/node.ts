import type { KubeObject, ObjectMeta } from "../../apimachinery/api/meta.js";

export interface NodeCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly lastHeartbeatTime?: string | null;
  readonly lastTransitionTime?: string | null;
  readonly reason?: string;
  readonly message?: string;
}

export interface NodeAddress {
  readonly type: "InternalIP" | "Hostname" | string;
  readonly address: string;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

export interface NodeStatus {
  readonly capacity?: Readonly<Record<string, string>>;
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly conditions?: readonly NodeCondition[];
  readonly addresses?: readonly NodeAddress[];
  readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port: number } };
  readonly nodeInfo?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** corev1.Node, as far as a kubelet reads it. */
export interface NodeObject extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly taints?: readonly Taint[]; readonly podCIDR?: string; readonly [field: string]: unknown };
  readonly status?: NodeStatus;
}

export function conditionOf(node: NodeObject, type: string): NodeCondition | undefined {
  return node.status?.conditions?.find((condition) => condition.type === type);
}

/** `node.kubernetes.io/unreachable:NoExecute` */
export function taintText(taint: Taint): string {
  return `${taint.key}${taint.value === undefined || taint.value === "" ? "" : `=${taint.value}`}:${taint.effect}`;
}
