import type { KubeObject, ObjectMeta } from "../../../apimachinery/api/meta.js";

/** The parts of Node, Pod and Lease that controllers read. Mirrors k8s.io/api/core/v1/types.go. */

export type ConditionStatus = "True" | "False" | "Unknown";

export interface NodeCondition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly lastHeartbeatTime?: string;
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
}

export type TaintEffect = "NoSchedule" | "PreferNoSchedule" | "NoExecute";

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: TaintEffect;
  readonly timeAdded?: string;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: "Exists" | "Equal";
  readonly value?: string;
  readonly effect?: TaintEffect;
  readonly tolerationSeconds?: number;
}

export interface NodeObject extends KubeObject {
  readonly spec?: {
    readonly taints?: readonly Taint[];
    readonly unschedulable?: boolean;
    readonly podCIDR?: string;
    readonly podCIDRs?: readonly string[];
    readonly [field: string]: unknown;
  };
  readonly status?: { readonly conditions?: readonly NodeCondition[]; readonly [field: string]: unknown };
}

export interface PodCondition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly lastTransitionTime?: string | null;
  readonly lastProbeTime?: string | null;
  readonly reason?: string;
  readonly message?: string;
}

export interface PodObject extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly tolerations?: readonly Toleration[];
    readonly terminationGracePeriodSeconds?: number;
    readonly [field: string]: unknown;
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly conditions?: readonly PodCondition[];
    readonly [field: string]: unknown;
  };
}

export interface LeaseObject extends KubeObject {
  readonly spec?: { readonly renewTime?: string; readonly holderIdentity?: string; readonly [field: string]: unknown };
}

export interface SecretObject extends KubeObject {
  readonly type?: string;
  /** base64 */
  readonly data?: Readonly<Record<string, string>>;
}

export interface ConfigMapObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** `namespace/name`, or the name alone for what lives in no namespace. */
export function keyOf(object: { readonly metadata: ObjectMeta }): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined || namespace === "" ? (name ?? "") : `${namespace}/${name ?? ""}`;
}

export function nameOf(object: KubeObject): string {
  return object.metadata.name ?? "";
}

/** Splits what `keyOf` made. */
export function splitKey(key: string): { readonly namespace: string | undefined; readonly name: string } {
  const slash = key.indexOf("/");
  return slash < 0
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Mirrors GetNodeCondition in pkg/controller/util/node/controller_utils.go. */
export function nodeCondition(node: NodeObject, type: string): NodeCondition | undefined {
  return node.status?.conditions?.find((condition) => condition.type === type);
}

/** Waiting for its grace period or for finalizers. */
export function isTerminating(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}
