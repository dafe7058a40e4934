import type { V1StatefulSet } from "@kubernetes/client-node";
import { nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";

export type StatefulSet = Wire<V1StatefulSet>;
export const STATEFUL_SETS = "statefulsets.apps";

/** The label with the name of a pod of a StatefulSet. */
export const POD_NAME = "statefulset.kubernetes.io/pod-name";

/** `web` and 2 of `web-2`. Mirrors getParentNameAndOrdinal in pkg/controller/statefulset/stateful_set_utils.go. */
function parentAndOrdinal(pod: PodObject): { readonly parent: string; readonly ordinal: number } {
  const [, parent = "", digits = ""] = /^(.*)-([0-9]+)$/s.exec(nameOf(pod)) ?? [];
  const ordinal = Number(digits);
  return { parent, ordinal: digits === "" || ordinal >= 2 ** 31 ? -1 : ordinal };
}

/** -1 for a pod without one. Mirrors getOrdinal. */
export function ordinalOf(pod: PodObject): number {
  return parentAndOrdinal(pod).ordinal;
}

/** Mirrors isMemberOf. */
export function isMemberOf(set: StatefulSet, pod: PodObject): boolean {
  return parentAndOrdinal(pod).parent === nameOf(set);
}

/** Mirrors identityMatches. */
export function identityMatches(set: StatefulSet, pod: PodObject): boolean {
  const { namespace, name, labels } = pod.metadata;
  if (ordinalOf(pod) < 0 || !isMemberOf(set, pod)) return false;
  return namespace === set.metadata.namespace && labels?.[POD_NAME] === name;
}
