import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { NodeObject } from "../../staging/apimachinery/api/node.js";
import type { PodObject } from "../../staging/apimachinery/api/objects.js";
import { isPodPhaseTerminal } from "../../staging/apimachinery/api/pod.js";

export type SchedulablePod = PodObject;
export type SchedulableNode = NodeObject;

export function uidOf(object: KubeObject): string {
  return object.metadata.uid ?? "";
}

/** The node that a pod is bound to; empty before it is bound. */
export function nodeNameOf(pod: SchedulablePod): string {
  return pod.spec?.nodeName ?? "";
}

/** Reports whether the pod has succeeded or failed. It then occupies no resources. */
export function isTerminal(pod: SchedulablePod): boolean {
  return isPodPhaseTerminal(pod.status?.phase);
}

/** Mirrors PodPriority in k8s.io/component-helpers/scheduling/corev1/helpers.go. */
export function priorityOf(pod: SchedulablePod): number {
  return pod.spec?.priority ?? 0;
}
