import type { KubeObject } from "../../apimachinery/api/meta.js";
import { fieldOf, recordsOf, textOf } from "./reading.js";

export const MIRROR_POD_ANNOTATION = "kubernetes.io/config.mirror";

/** Names of the objects, in the pod's own namespace, that a pod refers to. */
export interface PodReferences {
  readonly serviceAccount: string | undefined;
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
  readonly persistentVolumeClaims: ReadonlySet<string>;
}

/** Volume sources that name a secret directly: field of the volume -> path below it. */
const SECRET_SOURCES: readonly (readonly string[])[] = [
  ["secret", "secretName"],
  ["azureFile", "secretName"],
  ["cephfs", "secretRef", "name"],
  ["cinder", "secretRef", "name"],
  ["csi", "nodePublishSecretRef", "name"],
  ["flexVolume", "secretRef", "name"],
  ["iscsi", "secretRef", "name"],
  ["rbd", "secretRef", "name"],
  ["scaleIO", "secretRef", "name"],
  ["storageos", "secretRef", "name"],
];

/** Mirrors pkg/api/v1/pod/util.go (VisitPodSecretNames, VisitPodConfigmapNames). */
export function podReferences(pod: KubeObject): PodReferences {
  const spec = pod["spec"];
  const secrets = new Set<string>();
  const configMaps = new Set<string>();
  const claims = new Set<string>();
  const add = (names: Set<string>, name: unknown) => {
    if (textOf(name) !== "") names.add(textOf(name));
  };

  for (const reference of recordsOf(fieldOf(spec, "imagePullSecrets"))) add(secrets, reference["name"]);
  for (const container of containersOf(pod)) {
    for (const source of recordsOf(fieldOf(container, "envFrom"))) {
      add(secrets, fieldOf(source, "secretRef", "name"));
      add(configMaps, fieldOf(source, "configMapRef", "name"));
    }
    for (const variable of recordsOf(fieldOf(container, "env"))) {
      add(secrets, fieldOf(variable, "valueFrom", "secretKeyRef", "name"));
      add(configMaps, fieldOf(variable, "valueFrom", "configMapKeyRef", "name"));
    }
  }
  for (const volume of recordsOf(fieldOf(spec, "volumes"))) {
    for (const path of SECRET_SOURCES) add(secrets, fieldOf(volume, ...path));
    add(configMaps, fieldOf(volume, "configMap", "name"));
    add(claims, fieldOf(volume, "persistentVolumeClaim", "claimName"));
    if (volume["ephemeral"] !== undefined) add(claims, `${pod.metadata.name}-${textOf(volume["name"])}`);
    for (const source of recordsOf(fieldOf(volume, "projected", "sources"))) {
      add(secrets, fieldOf(source, "secret", "name"));
      add(configMaps, fieldOf(source, "configMap", "name"));
    }
  }
  const serviceAccount = textOf(fieldOf(spec, "serviceAccountName"));
  return {
    serviceAccount: serviceAccount === "" ? undefined : serviceAccount,
    secrets,
    configMaps,
    persistentVolumeClaims: claims,
  };
}

function containersOf(pod: KubeObject): readonly unknown[] {
  return ["initContainers", "containers", "ephemeralContainers"].flatMap((field) =>
    recordsOf(fieldOf(pod["spec"], field)),
  );
}

export function isMirrorPod(pod: KubeObject): boolean {
  return pod.metadata.annotations?.[MIRROR_POD_ANNOTATION] !== undefined;
}
