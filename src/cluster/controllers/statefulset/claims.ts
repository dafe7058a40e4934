import type { V1PersistentVolumeClaim } from "@kubernetes/client-node";
import { nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { ordinalOf, type StatefulSet } from "./identity.js";

export type PersistentVolumeClaim = Wire<V1PersistentVolumeClaim>;
export const CLAIMS = "persistentvolumeclaims";

/** `data-web-0`. Mirrors getPersistentVolumeClaimName in pkg/controller/statefulset/stateful_set_utils.go. */
function claimName(set: StatefulSet, template: PersistentVolumeClaim, ordinal: number): string {
  return `${nameOf(template)}-${nameOf(set)}-${ordinal}`;
}

/** The claims of the pod with this ordinal, not stored yet. Mirrors getPersistentVolumeClaims. */
export function claimsOf(set: StatefulSet, ordinal: number): PersistentVolumeClaim[] {
  const { volumeClaimTemplates, selector } = set.spec ?? {};
  const { namespace } = set.metadata;
  return (volumeClaimTemplates ?? []).map((template) => {
    const name = claimName(set, template, ordinal);
    const labels = { ...template.metadata.labels, ...selector?.matchLabels };
    const metadata = { ...template.metadata, name, namespace, labels } as PersistentVolumeClaim["metadata"];
    return { ...template, apiVersion: "v1", kind: "PersistentVolumeClaim", metadata };
  });
}

/** The pod with the volumes of its claims; they replace the template's volumes of the same name. Mirrors updateStorage. */
export function withStorage(set: StatefulSet, pod: PodObject, ordinal: number): PodObject {
  const templates = set.spec?.volumeClaimTemplates ?? [];
  if (templates.length === 0 || pod.spec === undefined) return pod;
  const names = new Set(templates.map((template) => nameOf(template)));
  const claimed = templates.map((template) => ({
    name: nameOf(template),
    persistentVolumeClaim: { claimName: claimName(set, template, ordinal) },
  }));
  const others = (pod.spec.volumes ?? []).filter(({ name }) => !names.has(name));
  return { ...pod, spec: { ...pod.spec, volumes: [...claimed, ...others] } };
}

/** Mirrors storageMatches. */
export function storageMatches(set: StatefulSet, pod: PodObject): boolean {
  const ordinal = ordinalOf(pod);
  if (ordinal < 0) return false;
  return (set.spec?.volumeClaimTemplates ?? []).every((template) => {
    const volume = pod.spec?.volumes?.find(({ name }) => name === template.metadata?.name);
    return volume?.persistentVolumeClaim?.claimName === claimName(set, template, ordinal);
  });
}
