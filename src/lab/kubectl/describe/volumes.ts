import type { V1Volume } from "@kubernetes/client-node";
import type { Wire } from "../../../staging/apimachinery/wire.js";

type Volume = Wire<V1Volume>;

/**
 * The volumes of a pod or a template.
 * Mirrors describeVolumes in staging/src/k8s.io/kubectl/pkg/describe/describe.go. Differs: of sources that kubelab does not mount,
 * only the name is shown.
 */
export function volumesLines(volumes: readonly Volume[] = [], indent = ""): string {
  if (volumes.length === 0) return `${indent}Volumes:\t<none>\n`;
  const nameIndent = indent === "" ? "  " : "   ";
  const lines = volumes.flatMap((volume) => [
    `${nameIndent}${volume.name}:`,
    ...sourceLines(volume).map((line) => `    ${line}`),
  ]);
  return [`${indent}Volumes:`, ...lines].map((line) => `${line}\n`).join("");
}

function sourceLines({ name: _, ...source }: Volume): readonly string[] {
  const { emptyDir, hostPath, configMap, secret, downwardAPI, persistentVolumeClaim, projected } = source;
  if (emptyDir !== undefined) {
    return [
      "Type:\tEmptyDir (a temporary directory that shares a pod's lifetime)",
      `Medium:\t${emptyDir.medium ?? ""}`,
      `SizeLimit:\t${emptyDir.sizeLimit ?? "<unset>"}`,
    ];
  }
  if (hostPath !== undefined) {
    const { path, type } = hostPath;
    return ["Type:\tHostPath (bare host directory volume)", `Path:\t${path}`, `HostPathType:\t${type ?? ""}`];
  }
  if (configMap !== undefined) {
    const { name, optional = false } = configMap;
    return ["Type:\tConfigMap (a volume populated by a ConfigMap)", `Name:\t${name}`, `Optional:\t${optional}`];
  }
  if (secret !== undefined) {
    const { secretName, optional = false } = secret;
    return ["Type:\tSecret (a volume populated by a Secret)", `SecretName:\t${secretName}`, `Optional:\t${optional}`];
  }
  if (downwardAPI !== undefined) {
    const items = (downwardAPI.items ?? []).map(({ path, fieldRef, resourceFieldRef }) =>
      fieldRef === undefined ? `  ${resourceFieldRef?.resource} -> ${path}` : `  ${fieldRef.fieldPath} -> ${path}`,
    );
    return ["Type:\tDownwardAPI (a volume populated by information about the pod)", "Items:", ...items];
  }
  if (persistentVolumeClaim !== undefined) {
    const { claimName, readOnly = false } = persistentVolumeClaim;
    return [
      "Type:\tPersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
      `ClaimName:\t${claimName}`,
      `ReadOnly:\t${readOnly}`,
    ];
  }
  if (projected === undefined) return [`Type:\t${Object.keys(source)[0] ?? "<unknown>"}`];
  const sources = (projected.sources ?? []).flatMap(({ secret, downwardAPI, configMap, serviceAccountToken }) => {
    if (secret) return [`SecretName:\t${secret.name}`, `SecretOptionalName:\t${secret.optional ?? "<nil>"}`];
    if (downwardAPI) return ["DownwardAPI:\ttrue"];
    if (configMap) return [`ConfigMapName:\t${configMap.name}`, `ConfigMapOptional:\t${configMap.optional ?? "<nil>"}`];
    return serviceAccountToken ? [`TokenExpirationSeconds:\t${serviceAccountToken.expirationSeconds}`] : [];
  });
  return ["Type:\tProjected (a volume that contains injected data from multiple sources)", ...sources];
}
