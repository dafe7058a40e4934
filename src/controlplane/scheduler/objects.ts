import type { KubeObject } from "../../apimachinery/api/meta.js";
import type { NodeSelectorTerm } from "../../apimachinery/corev1/node-affinity.js";
import type { ResourceList } from "../../apimachinery/quantity.js";
import type { NodeObject, PodObject } from "../controllers/support/objects.js";

/** The parts of Pod and Node that a scheduler reads. Mirrors k8s.io/api/core/v1/types.go. */

export interface ContainerPort {
  readonly hostPort?: number;
  readonly hostIP?: string;
  readonly protocol?: string;
}

export interface Container {
  readonly resources?: { readonly requests?: ResourceList };
  readonly ports?: readonly ContainerPort[];
  /** `Always` in an init container makes it a sidecar */
  readonly restartPolicy?: string;
}

export interface NodeAffinityTerms {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms: readonly NodeSelectorTerm[] };
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
    readonly weight: number;
    readonly preference: NodeSelectorTerm;
  }[];
}

interface SchedulablePodSpec {
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly overhead?: ResourceList;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: { readonly nodeAffinity?: NodeAffinityTerms; readonly [field: string]: unknown };
  readonly schedulerName?: string;
  readonly priority?: number;
  readonly preemptionPolicy?: string;
  readonly schedulingGates?: readonly { readonly name: string }[];
}

export interface SchedulablePod extends PodObject {
  readonly spec?: NonNullable<PodObject["spec"]> & SchedulablePodSpec;
}

export interface SchedulableNode extends NodeObject {
  readonly status?: NonNullable<NodeObject["status"]> & { readonly allocatable?: ResourceList };
}

export function uidOf(object: KubeObject): string {
  return object.metadata.uid ?? "";
}

/** The node that a pod is bound to; empty: none yet. */
export function nodeNameOf(pod: SchedulablePod): string {
  return pod.spec?.nodeName ?? "";
}

/** Succeeded or Failed: it holds no resources any more. */
export function isTerminal(pod: SchedulablePod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

/** Mirrors PodPriority in k8s.io/component-helpers/scheduling/corev1/helpers.go. */
export function priorityOf(pod: SchedulablePod): number {
  return pod.spec?.priority ?? 0;
}
