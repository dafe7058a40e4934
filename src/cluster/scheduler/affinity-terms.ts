import type { V1PodAffinityTerm } from "@kubernetes/client-node";
import { labelSelectorAsSelector } from "../../staging/apimachinery/selector.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import type { SchedulablePod } from "./objects.js";

/** The labels of a namespace; undefined if it does not exist. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>> | undefined;

/** One term of a pod's affinity to other pods, ready to match. Mirrors AffinityTerm in pkg/scheduler/framework/types.go. */
export interface AffinityTerm {
  readonly topologyKey: string;
  /** 1 to 100 for a preferred term; 0 for a required one */
  readonly weight: number;
  matches(other: SchedulablePod, labelsOf: NamespaceLabels): boolean;
}

/** The terms of a pod's podAffinity and podAntiAffinity. */
export interface AffinityTerms {
  readonly required: readonly AffinityTerm[];
  readonly requiredAnti: readonly AffinityTerm[];
  readonly preferred: readonly AffinityTerm[];
  readonly preferredAnti: readonly AffinityTerm[];
}

/** @returns undefined for a pod without inter-pod affinity. Mirrors PodInfo.Update in pkg/scheduler/framework/types.go. */
export function affinityTermsOf(pod: SchedulablePod): AffinityTerms | undefined {
  const { podAffinity, podAntiAffinity } = pod.spec?.affinity ?? {};
  if (!podAffinity && !podAntiAffinity) return undefined;
  const namespace = pod.metadata.namespace ?? "";
  const required = (terms: readonly Wire<V1PodAffinityTerm>[] | null | undefined) =>
    (terms ?? []).map((one) => affinityTerm(one, namespace, 0));
  const preferred = (terms: typeof podAffinity) =>
    (terms?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm, weight }) =>
      affinityTerm(podAffinityTerm, namespace, weight),
    );
  return {
    required: required(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    requiredAnti: required(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    preferred: preferred(podAffinity),
    preferredAnti: preferred(podAntiAffinity),
  };
}

/** A term without namespaces and without a namespaceSelector means the namespace of its pod. */
function affinityTerm(term: Wire<V1PodAffinityTerm>, ownNamespace: string, weight: number): AffinityTerm {
  const { topologyKey, labelSelector, namespaceSelector } = term;
  const listed = term.namespaces ?? [];
  const [isSelected, isInSelected] = [
    labelSelectorAsSelector(labelSelector),
    labelSelectorAsSelector(namespaceSelector),
  ];
  const namespaces = new Set(listed.length === 0 && !namespaceSelector ? [ownNamespace] : listed);
  return {
    topologyKey,
    weight,
    matches({ metadata: { namespace = "", labels } }, labelsOf) {
      return (namespaces.has(namespace) || isInSelected(labelsOf(namespace))) && isSelected(labels);
    },
  };
}
