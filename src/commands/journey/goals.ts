import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { KubeRequest } from "../../staging/client-go/rest/client.js";
import { collectionPath, DEPLOYMENTS, PODS } from "../../staging/client-go/rest/paths.js";
import type { JourneyManifest } from "./manifest.js";

/** The collection to watch, and the condition to stop. */
export interface Goal {
  readonly path: string;
  readonly query: KubeRequest["query"] & object;
  isReached(type: string, object: KubeObject): boolean;
  /** `it is Pending` */
  inWords(object: KubeObject): string;
}

interface Deployment extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  };
  readonly status?: { readonly observedGeneration?: number; readonly availableReplicas?: number };
}

/** The pod runs, or has run. */
export function runningPod(manifest: JourneyManifest): Goal {
  const ends = ["Running", "Succeeded", "Failed"];
  return { ...ofPod(manifest), isReached: (_type, pod) => ends.includes(phaseOf(pod) ?? "") };
}

export function gonePod(manifest: JourneyManifest): Goal {
  return { ...ofPod(manifest), isReached: (type) => type === "DELETED" };
}

function ofPod({ namespace, name }: JourneyManifest): Omit<Goal, "isReached"> {
  return {
    path: collectionPath({ ...PODS, namespace }),
    query: { fieldSelector: `metadata.name=${name}` },
    inWords: (pod) => `it is ${phaseOf(pod) ?? "without a phase"}`,
  };
}

function phaseOf(pod: KubeObject): string | undefined {
  return (pod as Partial<V1Pod>).status?.phase;
}

/** As many pods are available as the Deployment wants. */
export function availableDeployment({ namespace, name }: JourneyManifest): Goal {
  const counts = (object: KubeObject) => {
    const { spec, status, metadata } = object as Deployment;
    const isSeen = (status?.observedGeneration ?? 0) >= Number(metadata["generation"] ?? 0);
    return { wanted: spec?.replicas ?? 1, available: isSeen ? (status?.availableReplicas ?? 0) : 0, isSeen };
  };
  return {
    path: collectionPath({ ...DEPLOYMENTS, namespace }),
    query: { fieldSelector: `metadata.name=${name}` },
    isReached: (_type, object) => {
      const { wanted, available, isSeen } = counts(object);
      return isSeen && available >= wanted;
    },
    inWords: (object) => {
      const { wanted, available } = counts(object);
      return `${available} of ${wanted} pods are available`;
    },
  };
}

/** The pods of a Deployment, without an end. */
export function podsOf({ namespace, body }: JourneyManifest): Goal {
  const labels = Object.entries((body as Pick<Deployment, "spec">).spec?.selector?.matchLabels ?? {});
  return {
    path: collectionPath({ ...PODS, namespace }),
    query: { labelSelector: labels.map(([key, value]) => `${key}=${value}`).join(",") },
    isReached: () => false,
    inWords: () => "",
  };
}

/** The last pod of a Deployment is gone: pods disappear after the Deployment itself. */
export function gonePods(manifest: JourneyManifest): Goal {
  const left = new Set<string | undefined>();
  return {
    ...podsOf(manifest),
    isReached: (type, { metadata }) => {
      if (type !== "DELETED") left.add(metadata.name);
      else left.delete(metadata.name);
      return type === "DELETED" && left.size === 0;
    },
    inWords: () => `${left.size} of its pods are left`,
  };
}
