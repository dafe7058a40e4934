import type { V1EphemeralContainer, V1Pod, V1Volume } from "@kubernetes/client-node";
import { isSet } from "../../../util/records.js";
import type { KubeObject } from "../api/meta.js";
import type { V1Container } from "../api/pod.js";
import type { Wire } from "../wire.js";

/** On a mirror pod: the hash of the static pod that it mirrors. */
export const MIRROR_POD_ANNOTATION = "kubernetes.io/config.mirror";

/** The names of objects in the pod's namespace that a pod refers to. */
export interface PodReferences {
  readonly serviceAccount: string | undefined;
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
  readonly persistentVolumeClaims: ReadonlySet<string>;
}

/** Mirrors pkg/api/v1/pod/util.go (VisitPodSecretNames, VisitPodConfigmapNames). */
export function podReferences(pod: Wire<V1Pod>): PodReferences {
  const { imagePullSecrets, initContainers, containers, ephemeralContainers, volumes, serviceAccountName } =
    pod.spec ?? { containers: [] };
  const found: References = { secrets: new Set(), configMaps: new Set(), claims: new Set() };
  for (const { name } of imagePullSecrets ?? []) add(found.secrets, name);
  for (const container of [...(initContainers ?? []), ...(containers ?? []), ...(ephemeralContainers ?? [])]) {
    visitContainer(container, found);
  }
  for (const volume of volumes ?? []) {
    for (const name of secretNames(volume)) add(found.secrets, name);
    add(found.configMaps, volume.configMap?.name);
    add(found.claims, claimReferenceOf(pod, volume)?.name);
    for (const { secret, configMap } of volume.projected?.sources ?? []) {
      add(found.secrets, secret?.name);
      add(found.configMaps, configMap?.name);
    }
  }
  return {
    serviceAccount: serviceAccountName === "" ? undefined : serviceAccountName,
    secrets: found.secrets,
    configMaps: found.configMaps,
    persistentVolumeClaims: found.claims,
  };
}

/** The claim that a volume of a pod names: its own, or that of a generic ephemeral volume. Mirrors ephemeral.VolumeClaimName. */
export function claimReferenceOf(
  pod: Pick<KubeObject, "metadata">,
  { persistentVolumeClaim, ephemeral, name }: Wire<V1Volume>,
): ClaimReference | undefined {
  if (isSet(persistentVolumeClaim)) return { name: persistentVolumeClaim.claimName, isEphemeral: false };
  return isSet(ephemeral) ? { name: `${pod.metadata.name}-${name}`, isEphemeral: true } : undefined;
}

export interface ClaimReference {
  readonly name: string;
  readonly isEphemeral: boolean;
}

/** Reports whether one of the pod's volumes is this claim. Mirrors podUsesPVC in pkg/controller/volume/pvcprotection. */
export function usesClaim(pod: Wire<V1Pod>, { metadata }: Pick<KubeObject, "metadata">): boolean {
  if (pod.metadata.namespace !== metadata.namespace) return false;
  return podReferences(pod).persistentVolumeClaims.has(metadata.name ?? "");
}

interface References {
  readonly secrets: Set<string>;
  readonly configMaps: Set<string>;
  readonly claims: Set<string>;
}

function add(names: Set<string>, name: string | undefined): void {
  if (name !== undefined && name !== "") names.add(name);
}

function visitContainer({ envFrom, env }: V1Container | Wire<V1EphemeralContainer>, found: References): void {
  for (const { secretRef, configMapRef } of envFrom ?? []) {
    add(found.secrets, secretRef?.name);
    add(found.configMaps, configMapRef?.name);
  }
  for (const { valueFrom } of env ?? []) {
    add(found.secrets, valueFrom?.secretKeyRef?.name);
    add(found.configMaps, valueFrom?.configMapKeyRef?.name);
  }
}

/** The secrets that a volume's source names directly. */
function secretNames(volume: Wire<V1Volume>): readonly (string | undefined)[] {
  const { secret, azureFile, cephfs, cinder, csi, flexVolume, iscsi, rbd, scaleIO, storageos } = volume;
  const sources = [cephfs, cinder, flexVolume, iscsi, rbd, scaleIO, storageos];
  return [
    secret?.secretName,
    azureFile?.secretName,
    csi?.nodePublishSecretRef?.name,
    ...sources.map((source) => source?.secretRef?.name),
  ];
}

/** Reports whether the pod is the API server's copy of a static pod. */
export function isMirrorPod(pod: KubeObject): boolean {
  return pod.metadata.annotations?.[MIRROR_POD_ANNOTATION] !== undefined;
}
