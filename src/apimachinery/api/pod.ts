import type { KubeObject, ObjectMeta } from "./meta.js";

/**
 * Pods as they are on the wire, as far as a kubelet reads and writes them; whatever else a pod has is kept as it came.
 *
 * Mirrors k8s.io/api/core/v1/types.go. The names have V1 in front, as the kubelet has a Pod, a PodStatus and a
 * ContainerStatus of its own: what a container runtime knows (kubelet/container/runtime.ts).
 */
export interface V1Pod extends KubeObject {
  readonly metadata: ObjectMeta & { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly spec: V1PodSpec;
  readonly status: V1PodStatus;
}

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
export type RestartPolicy = "Always" | "OnFailure" | "Never";
export type ConditionStatus = "True" | "False" | "Unknown";

export interface V1PodSpec {
  readonly initContainers?: readonly V1Container[] | null;
  readonly containers?: readonly V1Container[] | null;
  readonly restartPolicy?: RestartPolicy;
  readonly terminationGracePeriodSeconds?: number;
  readonly nodeName?: string;
  readonly hostNetwork?: boolean;
  readonly readinessGates?: readonly { readonly conditionType: string }[] | null;
  readonly tolerations?: readonly V1Toleration[];
  readonly [field: string]: unknown;
}

export interface V1Container {
  readonly name: string;
  readonly image?: string;
  /** only of init containers: `Always` makes one that runs beside the others */
  readonly restartPolicy?: string;
  readonly [field: string]: unknown;
}

export interface V1Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

export interface V1PodStatus {
  /** empty: nobody has looked at the pod yet */
  readonly phase?: PodPhase | "";
  readonly conditions?: readonly V1PodCondition[] | null;
  readonly message?: string;
  readonly reason?: string;
  readonly nominatedNodeName?: string;
  readonly hostIP?: string;
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[] | null;
  /** RFC 3339 */
  readonly startTime?: string | null;
  readonly initContainerStatuses?: readonly V1ContainerStatus[] | null;
  readonly containerStatuses?: readonly V1ContainerStatus[] | null;
  readonly ephemeralContainerStatuses?: readonly V1ContainerStatus[] | null;
  readonly qosClass?: string;
}

export interface V1PodCondition {
  readonly type: string;
  readonly status: ConditionStatus;
  /** RFC 3339 */
  readonly lastProbeTime?: string | null;
  /** RFC 3339 */
  readonly lastTransitionTime?: string | null;
  readonly reason?: string;
  readonly message?: string;
}

export interface V1ContainerStatus {
  readonly name: string;
  readonly state?: V1ContainerState;
  readonly lastState?: V1ContainerState;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly image?: string;
  readonly imageID?: string;
  /** `containerd://4f0c…` */
  readonly containerID?: string;
  readonly started?: boolean;
}

/** At most one of the three is set; none of them counts as waiting. */
export interface V1ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string } | null;
  readonly running?: { readonly startedAt?: string | null } | null;
  readonly terminated?: V1ContainerStateTerminated | null;
}

export interface V1ContainerStateTerminated {
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string | null;
  readonly finishedAt?: string | null;
  readonly containerID?: string;
}

/**
 * Takes an object of an API server for a pod.
 * @returns undefined when it lacks what every pod has: a name, a namespace and a uid
 */
export function asPod(object: KubeObject): V1Pod | undefined {
  const { name, namespace, uid } = object.metadata;
  if (typeof name !== "string" || typeof namespace !== "string" || typeof uid !== "string") return undefined;
  const spec = (object["spec"] ?? {}) as V1PodSpec;
  const status = (object["status"] ?? {}) as V1PodStatus;
  return { ...object, metadata: { ...object.metadata, name, namespace, uid }, spec, status };
}

/** Mirrors IsPodTerminal in pkg/api/v1/pod/util.go. */
export function isPodPhaseTerminal(phase: V1PodStatus["phase"]): boolean {
  return phase === "Failed" || phase === "Succeeded";
}

/** Mirrors GetPodConditionFromList in pkg/api/v1/pod/util.go. */
export function findCondition(conditions: V1PodStatus["conditions"], type: string): V1PodCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}
