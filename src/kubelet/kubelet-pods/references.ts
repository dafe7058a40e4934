import type { V1Volume } from "@kubernetes/client-node";
import type { V1Pod } from "../../apimachinery/api/pod.js";
import type { Wire } from "../../apimachinery/wire.js";
import { allContainersOf } from "../container/spec.js";

/**
 * The ConfigMaps that a pod's containers and volumes reference. Pure.
 * Mirrors VisitPodConfigmapNames in pkg/api/v1/pod/util.go.
 */
export function referencedConfigMaps(pod: V1Pod): ReadonlySet<string> {
  const fromContainers = allContainersOf(pod).flatMap((container) => [
    ...(container.envFrom ?? []).map(({ configMapRef }) => configMapRef?.name),
    ...(container.env ?? []).map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
  ]);
  const fromVolumes = (pod.spec.volumes ?? []).flatMap((volume) => [
    volume.configMap?.name,
    ...sourcesOf(volume).map(({ configMap }) => configMap?.name),
  ]);
  return namesOf([...fromContainers, ...fromVolumes]);
}

/**
 * The Secrets that a pod's containers and volumes reference, and its pull secrets. Pure.
 * Mirrors VisitPodSecretNames in pkg/api/v1/pod/util.go.
 */
export function referencedSecrets(pod: V1Pod): ReadonlySet<string> {
  const fromContainers = allContainersOf(pod).flatMap((container) => [
    ...(container.envFrom ?? []).map(({ secretRef }) => secretRef?.name),
    ...(container.env ?? []).map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
  ]);
  const fromVolumes = (pod.spec.volumes ?? []).flatMap((volume) => [
    volume.secret?.secretName,
    ...sourcesOf(volume).map(({ secret }) => secret?.name),
  ]);
  const pullSecrets = (pod.spec.imagePullSecrets ?? []).map(({ name }) => name);
  return namesOf([...pullSecrets, ...fromContainers, ...fromVolumes]);
}

function sourcesOf({ projected }: Wire<V1Volume>) {
  return projected?.sources ?? [];
}

function namesOf(names: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(names.filter((name): name is string => name !== undefined && name !== ""));
}
