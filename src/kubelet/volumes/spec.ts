import type { V1Container, V1Pod } from "../../apimachinery/api/pod.js";
import { type FieldRef, listOf, type ResourceFieldRef } from "../envvars/spec.js";

/** What a pod's spec says of volumes. Mirrors k8s.io/api/core/v1/types.go (Volume, VolumeMount). */

/** Which key becomes which file. */
export interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

interface ObjectSource {
  readonly items?: readonly KeyToPath[] | null;
  readonly optional?: boolean;
}

export interface ConfigMapSource extends ObjectSource {
  readonly name: string;
}

export interface DownwardApiItem {
  readonly path: string;
  readonly fieldRef?: FieldRef | null;
  readonly resourceFieldRef?: ResourceFieldRef | null;
  readonly mode?: number;
}

export interface ServiceAccountTokenSource {
  readonly path: string;
  /** default: the API server */
  readonly audience?: string;
  readonly expirationSeconds?: number;
}

/** One source of a projected volume. */
export interface ProjectionSource {
  readonly configMap?: ConfigMapSource | null;
  readonly secret?: ConfigMapSource | null;
  readonly downwardAPI?: { readonly items?: readonly DownwardApiItem[] | null } | null;
  readonly serviceAccountToken?: ServiceAccountTokenSource | null;
}

export interface VolumeSpec {
  readonly name: string;
  readonly emptyDir?: { readonly medium?: string } | null;
  readonly configMap?: (ConfigMapSource & { readonly defaultMode?: number }) | null;
  readonly secret?: (ObjectSource & { readonly secretName: string; readonly defaultMode?: number }) | null;
  readonly downwardAPI?: { readonly items?: readonly DownwardApiItem[] | null; readonly defaultMode?: number } | null;
  readonly projected?: {
    readonly sources?: readonly ProjectionSource[] | null;
    readonly defaultMode?: number;
  } | null;
  readonly hostPath?: { readonly path: string; readonly type?: string } | null;
  readonly [kind: string]: unknown;
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly subPath?: string;
  readonly subPathExpr?: string;
  readonly mountPropagation?: string;
}

export function volumesOf({ spec }: V1Pod): readonly VolumeSpec[] {
  return listOf<VolumeSpec>(spec["volumes"]);
}

export function volumeMountsOf(container: V1Container): readonly VolumeMount[] {
  return listOf<VolumeMount>(container["volumeMounts"]);
}

/** Which volumes containers mount; the others are not set up. Mirrors GetPodVolumeNames in pkg/volume/util/util.go. */
export function mountedVolumeNames({ spec }: V1Pod): ReadonlySet<string> {
  const ephemeral = listOf<V1Container>(spec["ephemeralContainers"]);
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...ephemeral];
  return new Set(containers.flatMap((container) => volumeMountsOf(container).map(({ name }) => name)));
}
