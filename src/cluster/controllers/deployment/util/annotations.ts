import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";

/** Annotations of a Deployment and its ReplicaSets. Mirrors pkg/controller/deployment/util/deployment_util.go. */

export const REVISION_ANNOTATION = "deployment.kubernetes.io/revision";
const REVISION_HISTORY_ANNOTATION = "deployment.kubernetes.io/revision-history";
/** the Deployment's replicas when it last scaled the set */
export const DESIRED_REPLICAS_ANNOTATION = "deployment.kubernetes.io/desired-replicas";
/** the Deployment's replicas with its surge when it last scaled the set */
export const MAX_REPLICAS_ANNOTATION = "deployment.kubernetes.io/max-replicas";

/** Characters of the list of earlier revisions. */
const MAX_REVISION_HISTORY_LENGTH = 2000;

const NOT_COPIED: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  "deprecated.deployment.rollback.to",
  REVISION_ANNOTATION,
  REVISION_HISTORY_ANNOTATION,
  DESIRED_REPLICAS_ANNOTATION,
  MAX_REPLICAS_ANNOTATION,
]);

type Annotations = Readonly<Record<string, string>>;

/** @returns undefined if the annotation is missing or is no whole number */
export function intAnnotation({ metadata }: KubeObject, key: string): number | undefined {
  const text = metadata.annotations?.[key] ?? "";
  return /^[+-]?\d+$/.test(text) ? Number(text) : undefined;
}

/** An int64, which a number cannot hold. @returns undefined for any other text */
function parseRevision(text: string): bigint | undefined {
  return /^\d{1,19}$/.test(text) ? BigInt(text) : undefined;
}

/** The highest revision; 0n without one. Mirrors MaxRevision. */
export function maxRevision(objects: readonly KubeObject[]): bigint {
  const revisions = objects.map(({ metadata }) => parseRevision(metadata.annotations?.[REVISION_ANNOTATION] ?? ""));
  return revisions.reduce<bigint>((max, one = 0n) => (one > max ? one : max), 0n);
}

/** Mirrors SetReplicasAnnotations. */
export function withReplicas(annotations: Annotations, desired: number, max: number): Annotations {
  return { ...annotations, [DESIRED_REPLICAS_ANNOTATION]: String(desired), [MAX_REPLICAS_ANNOTATION]: String(max) };
}

/**
 * The annotations of a Deployment's newest ReplicaSet: the Deployment's own, and its revision, which only grows. A revision that it
 * had before is remembered.
 * Mirrors SetNewReplicaSetAnnotations and copyDeploymentAnnotationsToReplicaSet.
 * @param before of the set; {} for a new one
 */
export function newReplicaSetAnnotations(deployment: KubeObject, before: Annotations, revision: bigint): Annotations {
  const own = Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => !NOT_COPIED.has(key));
  const copied: Annotations = { ...before, ...Object.fromEntries(own) };
  const old = before[REVISION_ANNOTATION] ?? "";
  const oldRevision = old === "" ? 0n : parseRevision(old);
  if (oldRevision === undefined || oldRevision >= revision) return copied;
  const raised = { ...copied, [REVISION_ANNOTATION]: String(revision) };
  if (before[REVISION_ANNOTATION] === undefined) return raised;
  return { ...raised, [REVISION_HISTORY_ANNOTATION]: historyWith(before[REVISION_HISTORY_ANNOTATION] ?? "", old) };
}

/** The oldest revisions go first if the list becomes too long. */
function historyWith(history: string, revision: string): string {
  const revisions = history === "" ? [] : history.split(",");
  while (revisions.length > 0 && [...revisions, revision].join(",").length > MAX_REVISION_HISTORY_LENGTH) {
    revisions.shift();
  }
  return [...revisions, revision].join(",");
}
