import type { OwnerReference } from "../../../staging/apimachinery/api/meta.js";
import { nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import type { PersistentVolumeClaim } from "./claims.js";
import { ordinalOf, type StatefulSet } from "./identity.js";
import { ordinalsOf } from "./stateful-set-utils.js";

/**
 * Which claims go with their set, and which with a pod that is scaled away: the garbage collector deletes a claim with its owner.
 * Since v1.27. Mirrors pkg/controller/statefulset/stateful_set_utils.go.
 */

type Owners = readonly {
  readonly apiVersion: string;
  readonly kind: string;
  readonly object: StatefulSet | PodObject;
}[];

/** The claim's owners among its set and its pod. Mirrors claimOwnerMatchesSetAndPod. */
function wantedOwners(set: StatefulSet, pod: PodObject): Owners {
  const { whenDeleted, whenScaled } = set.spec?.persistentVolumeClaimRetentionPolicy ?? {};
  const isScaledDown = !ordinalsOf(set).includes(ordinalOf(pod));
  const goesWithPod = whenScaled === "Delete" && isScaledDown;
  return [
    ...(whenDeleted === "Delete" && !goesWithPod ? [{ apiVersion: "apps/v1", kind: "StatefulSet", object: set }] : []),
    ...(goesWithPod ? [{ apiVersion: "v1", kind: "Pod", object: pod }] : []),
  ];
}

/** Mirrors updateClaimOwnerRefForSetAndPod. @returns the same claim if its owners are right */
export function withRetention(set: StatefulSet, pod: PodObject, claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const wanted = wantedOwners(set, pod);
  const references = claim.metadata.ownerReferences ?? [];
  const isOurs = ({ uid }: OwnerReference) => uid === set.metadata.uid || uid === pod.metadata.uid;
  const ours = references.filter(isOurs);
  const isRight = ours.length === wanted.length && wanted.every(({ object }) => hasOwner(claim, object));
  if (isRight) return claim;
  const added = wanted.map(({ apiVersion, kind, object }) => {
    return { apiVersion, kind, name: nameOf(object), uid: object.metadata.uid ?? "" };
  });
  const ownerReferences = [...references.filter((one) => !isOurs(one)), ...added];
  const { ownerReferences: _before, ...metadata } = claim.metadata;
  return { ...claim, metadata: ownerReferences.length === 0 ? metadata : { ...metadata, ownerReferences } };
}

function hasOwner({ metadata }: PersistentVolumeClaim, { metadata: { uid } }: StatefulSet | PodObject): boolean {
  return metadata.ownerReferences?.some((one) => one.uid === uid) === true;
}

/** Reports whether the claim belongs to an earlier pod of the name, and goes with it. Mirrors hasStaleOwnerRef. */
export function isStaleClaim(set: StatefulSet, pod: PodObject, { metadata }: PersistentVolumeClaim): boolean {
  if (set.spec?.persistentVolumeClaimRetentionPolicy?.whenScaled !== "Delete") return false;
  return (metadata.ownerReferences ?? []).some(
    ({ kind, name, uid }) => kind === "Pod" && name === nameOf(pod) && uid !== pod.metadata.uid,
  );
}
