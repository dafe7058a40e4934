import { createHash } from "node:crypto";
import type { V1Pod } from "../../apimachinery/api/pod.js";
import { isAtLeast } from "../../release/facts.js";
import { dumpStruct } from "./internal-pod/dump.js";
import { POD_TYPES } from "./internal-pod/pod-types.js";

/** Where a manifest was read, by whom and for which node. */
export interface PodOrigin {
  /** path of the file, or the URL */
  readonly source: string;
  readonly isFile: boolean;
  readonly nodeName: string;
  /** the kubelet's release: `1.25` */
  readonly kubeVersion: string;
}

/** Init containers were annotations once; who reads a pod throws those away. Mirrors dropInitContainerAnnotations. */
const DROPPED_ANNOTATIONS = ["alpha", "beta"].flatMap((stage) =>
  ["init-containers", "init-container-statuses"].map((what) => `pod.${stage}.kubernetes.io/${what}`),
);

/**
 * The UID of a pod from a manifest that names none: 32 hexadecimal digits, the same for the same content from the same
 * place on the same node, and others as soon as anything changes, so that a changed file is another pod. A real kubelet of
 * the same release finds the same digits, and so knows the containers of this one for its own.
 *
 * The digits are of upstream's picture of its own types, so a release that adds a field gives every static pod another
 * UID, and its containers are started anew.
 *
 * Mirrors applyDefaults in pkg/kubelet/config/common.go. Up to 1.20 the place was written before DeepHashObject, which
 * forgets what was written, so that the same file on two nodes had one UID; from 1.35 on it is FNV-1a instead of MD5.
 *
 * Differs: where the content has what the tables of internal-pod/ do not describe (a time, a status, owners, a volume that
 * this kubelet does not mount, claims of devices, resources of the pod as a whole), the digits are those of its JSON: they
 * say as much, but no other kubelet finds them.
 *
 * @param pod defaulted, and otherwise as the manifest says
 */
export function staticPodUid(pod: V1Pod, { source, isFile, nodeName, kubeVersion }: PodOrigin): string {
  const content = dumpPod(pod, kubeVersion) ?? JSON.stringify(sorted(pod));
  const place = isFile ? `host:${nodeName}file:${source}` : `url:${source}`;
  const hash = createHash("md5").update(content);
  if (isAtLeast(kubeVersion, "1.21")) hash.update(place);
  return hash.digest("hex");
}

/** As a Go program prints the pod. @returns undefined when this one cannot know how that looks */
export function dumpPod(pod: V1Pod, kubeVersion: string): string | undefined {
  const hasStatus = Object.values(pod.status).some(isSet);
  // From 1.34 on a pod's own resources are filled in from its containers', which setPodDefaults does not do.
  const hasOwnResources = isSet(pod.spec["resources"]) && isAtLeast(kubeVersion, "1.34");
  if (hasStatus || hasOwnResources) return undefined;
  return dumpStruct(POD_TYPES, "core.Pod", toInternal(pod), kubeVersion);
}

/** Mirrors Convert_v1_Pod_To_core_Pod and Convert_v1_PodSpec_To_core_PodSpec in pkg/apis/core/v1/conversion.go. */
function toInternal({ metadata, spec, status }: V1Pod): object {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers } = spec;
  const { securityContext, serviceAccountName, serviceAccount } = spec;
  const ofHost = { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers };
  return {
    metadata: { ...metadata, annotations: withoutDropped(metadata.annotations) },
    spec: {
      ...spec,
      serviceAccountName: serviceAccountName || serviceAccount,
      securityContext: { ...(securityContext as object | undefined), ...ofHost },
    },
    status,
  };
}

function withoutDropped<T extends object>(annotations: T | null | undefined): T | null | undefined {
  if (annotations === null || annotations === undefined) return annotations;
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !DROPPED_ANNOTATIONS.includes(key))) as T;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The order of members in a file means nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
