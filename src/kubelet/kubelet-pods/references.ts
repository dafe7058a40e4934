import type { V1Container, V1Pod } from "../../apimachinery/api/pod.js";
import { type EnvFromSpec, type EnvVarSpec, listOf } from "../envvars/spec.js";
import { type VolumeSpec, volumesOf } from "../volumes/spec.js";

/**
 * The ConfigMaps that a pod's containers and volumes name. Pure.
 * Mirrors VisitPodConfigmapNames in pkg/api/v1/pod/util.go.
 */
export function referencedConfigMaps(pod: V1Pod): ReadonlySet<string> {
  const fromContainers = containersOf(pod).flatMap((container) => [
    ...envFromOf(container).map(({ configMapRef }) => configMapRef?.name),
    ...envOf(container).map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
  ]);
  const fromVolumes = volumesOf(pod).flatMap((volume) => [
    volume.configMap?.name,
    ...sourcesOf(volume).map(({ configMap }) => configMap?.name),
  ]);
  return namesOf([...fromContainers, ...fromVolumes]);
}

/**
 * The Secrets that a pod's containers and volumes name, and those that its images are pulled with. Pure.
 * Mirrors VisitPodSecretNames in pkg/api/v1/pod/util.go.
 */
export function referencedSecrets(pod: V1Pod): ReadonlySet<string> {
  const fromContainers = containersOf(pod).flatMap((container) => [
    ...envFromOf(container).map(({ secretRef }) => secretRef?.name),
    ...envOf(container).map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
  ]);
  const fromVolumes = volumesOf(pod).flatMap((volume) => [
    volume.secret?.secretName,
    ...sourcesOf(volume).map(({ secret }) => secret?.name),
  ]);
  const pullSecrets = listOf<{ readonly name?: string }>(pod.spec["imagePullSecrets"]).map(({ name }) => name);
  return namesOf([...pullSecrets, ...fromContainers, ...fromVolumes]);
}

function containersOf({ spec }: V1Pod): readonly V1Container[] {
  const ephemeral = listOf<V1Container>(spec["ephemeralContainers"]);
  return [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...ephemeral];
}

function envOf(container: V1Container): readonly EnvVarSpec[] {
  return listOf<EnvVarSpec>(container["env"]);
}

function envFromOf(container: V1Container): readonly EnvFromSpec[] {
  return listOf<EnvFromSpec>(container["envFrom"]);
}

function sourcesOf({ projected }: VolumeSpec) {
  return projected?.sources ?? [];
}

function namesOf(names: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(names.filter((name): name is string => name !== undefined && name !== ""));
}
