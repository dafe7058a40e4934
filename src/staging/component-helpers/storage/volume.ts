import type { V1PersistentVolume, V1PersistentVolumeClaim, V1StorageClass } from "@kubernetes/client-node";
import { isTerminating, nameOf } from "../../apimachinery/api/objects.js";
import { matchesNodeSelectorTerm } from "../../apimachinery/corev1/node-affinity.js";
import { compareQuantities } from "../../apimachinery/quantity.js";
import { labelSelectorAsSelector } from "../../apimachinery/selector.js";
import type { Wire } from "../../apimachinery/wire.js";

/**
 * Which claim and which volume belong together, for the controller that binds them and for the scheduler.
 * Mirrors k8s.io/component-helpers/storage/volume (helpers.go, pv_helpers.go). Pure.
 */

export type Claim = Wire<V1PersistentVolumeClaim>;
export type Volume = Wire<V1PersistentVolume>;
export type StorageClass = Wire<V1StorageClass>;

/** On a claim: its binding is complete. */
export const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";
/** On a claim or a volume: the controller chose the other one, not the user. */
export const BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller";
/** On a claim: the node that the scheduler chose for its first pod. */
export const SELECTED_NODE = "volume.kubernetes.io/selected-node";
/** On a claim: who shall provision its volume. The second key is the older one. */
export const STORAGE_PROVISIONER = [
  "volume.kubernetes.io/storage-provisioner",
  "volume.beta.kubernetes.io/storage-provisioner",
] as const;
/** On a volume: who provisioned it. */
export const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";
/** The provisioner of classes whose volumes an administrator makes. */
export const NO_PROVISIONER = "kubernetes.io/no-provisioner";

const BETA_CLASS = "volume.beta.kubernetes.io/storage-class";
const DEFAULT_CLASS = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

/** The storage class of a claim or a volume; empty: none. Mirrors GetPersistentVolumeClaimClass, GetPersistentVolumeClass. */
export function storageClassOf({ metadata, spec }: Claim | Volume): string {
  return metadata.annotations?.[BETA_CLASS] ?? spec?.storageClassName ?? "";
}

/** Whether a claim names a class, be it the empty one. Mirrors PersistentVolumeClaimHasClass. */
export function hasStorageClass({ metadata, spec }: Claim): boolean {
  return metadata.annotations?.[BETA_CLASS] !== undefined || typeof spec?.storageClassName === "string";
}

/** Mirrors IsDefaultAnnotation in pkg/volume/util. */
export function isDefaultClass({ metadata }: StorageClass): boolean {
  return DEFAULT_CLASS.some((key) => metadata.annotations?.[key] === "true");
}

/** The default class that counts: the newest, then the first by name. Mirrors GetDefaultClass in pkg/volume/util/storageclass.go. */
export function defaultClassOf(classes: readonly StorageClass[]): StorageClass | undefined {
  const created = ({ metadata }: StorageClass) => String(metadata.creationTimestamp ?? "");
  const byAge = (a: StorageClass, b: StorageClass) =>
    created(b).localeCompare(created(a)) || nameOf(a).localeCompare(nameOf(b));
  return classes.filter(isDefaultClass).sort(byAge)[0];
}

/** Mirrors IsDelayBindingMode: the class waits for a pod that uses the claim. */
export function isDelayBindingMode(claim: Claim, classOf: (name: string) => StorageClass | undefined): boolean {
  return classOf(storageClassOf(claim))?.volumeBindingMode === "WaitForFirstConsumer";
}

/** The binding is complete on both sides. Mirrors isPVCFullyBound of the scheduler. */
export function isFullyBound({ spec, metadata }: Claim): boolean {
  return (spec?.volumeName ?? "") !== "" && metadata.annotations?.[BIND_COMPLETED] !== undefined;
}

/** A volume that names this claim, before or after it was bound. Mirrors IsVolumeBoundToClaim. */
export function isVolumeBoundToClaim({ spec }: Volume, { metadata }: Claim): boolean {
  const ref = spec?.claimRef;
  if (!ref || ref.name !== metadata.name || ref.namespace !== metadata.namespace) return false;
  return !ref.uid || ref.uid === metadata.uid;
}

/** Mirrors CheckAccessModes. */
function hasAccessModes({ spec }: Claim, volume: Volume): boolean {
  const modes = volume.spec?.accessModes ?? [];
  return (spec?.accessModes ?? []).every((mode) => modes.includes(mode));
}

/** Whether a node reaches the volume. Mirrors CheckNodeAffinity. */
export function isReachableFrom({ spec }: Volume, node: Selectable): boolean {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms;
  return !terms || terms.some((term) => matchesNodeSelectorTerm(term, node));
}

type Selectable = Parameters<typeof matchesNodeSelectorTerm>[1];

/** The storage that a claim requests, or a volume has. */
export const requestedBy = ({ spec }: Claim) => spec?.resources?.requests?.["storage"] ?? "0";
export const capacityOf = ({ spec }: Volume) => spec?.capacity?.["storage"] ?? "0";
const modeOf = ({ spec }: Claim | Volume) => spec?.volumeMode || "Filesystem";

/** Why a volume that the claim's user chose cannot serve the claim. Mirrors checkVolumeSatisfyClaim in pv_controller.go. */
export function whyUnsatisfied(volume: Volume, claim: Claim): string | undefined {
  if (compareQuantities(capacityOf(volume), requestedBy(claim)) < 0) return "requested PV is too small";
  if (storageClassOf(volume) !== storageClassOf(claim)) return "storageClassName does not match";
  if (modeOf(volume) !== modeOf(claim)) return "incompatible volumeMode";
  return hasAccessModes(claim, volume) ? undefined : "incompatible accessMode";
}

interface Search {
  /** the scheduler's node; absent: any */
  readonly node?: Selectable | undefined;
  /** names of volumes that others take */
  readonly excluded?: ReadonlySet<string>;
  /** without a node, only a volume that names the claim is found */
  readonly delayBinding: boolean;
}

/** The smallest volume that can serve a claim. Mirrors FindMatchingVolume, and findBestMatchForClaim's order of access modes. */
export function findMatchingVolume(claim: Claim, volumes: readonly Volume[], search: Search): Volume | undefined {
  const { node, excluded, delayBinding } = search;
  const labelsMatch = claim.spec?.selector ? labelSelectorAsSelector(claim.spec.selector) : () => true;
  const fits = (volume: Volume) => {
    if (excluded?.has(nameOf(volume)) === true || isTerminating(volume)) return false;
    if (compareQuantities(capacityOf(volume), requestedBy(claim)) < 0) return false;
    return modeOf(volume) === modeOf(claim) && hasAccessModes(claim, volume);
  };
  const reaches = (volume: Volume) => node === undefined || isReachableFrom(volume, node);
  const candidates = volumes.filter(fits);
  const own = candidates.find((volume) => isVolumeBoundToClaim(volume, claim));
  if (own !== undefined) return reaches(own) ? own : undefined;
  if (node === undefined && delayBinding) return undefined;
  const size = (volume: Volume) => volume.spec?.accessModes?.length ?? 0;
  return candidates
    .filter((volume) => !volume.spec?.claimRef && volume.status?.phase === "Available")
    .filter((volume) => storageClassOf(volume) === storageClassOf(claim) && labelsMatch(volume.metadata.labels))
    .filter(reaches)
    .sort((a, b) => size(a) - size(b) || compareQuantities(capacityOf(a), capacityOf(b)))[0];
}

/** The volume is bound to another claim; a new search may find another volume. */
class AlreadyBound extends Error {
  override readonly name = "AlreadyBound";
}

/**
 * The volume as it names this claim. Mirrors GetBindVolumeToClaim.
 * @returns the same object if nothing changes @throws AlreadyBound
 */
export function boundToClaim(volume: Volume, claim: Claim): Volume {
  const isNew = !volume.spec?.claimRef;
  if (!isNew && !isVolumeBoundToClaim(volume, claim)) {
    throw new AlreadyBound(`volume ${JSON.stringify(nameOf(volume))} is bound to another claim`);
  }
  if (!isNew && volume.spec?.claimRef?.uid === claim.metadata.uid) return volume;
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  const claimRef = { kind: "PersistentVolumeClaim", apiVersion: "v1", namespace, name, uid, resourceVersion };
  const annotations = isNew ? { ...volume.metadata.annotations, [BOUND_BY_CONTROLLER]: "yes" } : undefined;
  const metadata = annotations === undefined ? volume.metadata : { ...volume.metadata, annotations };
  return { ...volume, metadata, spec: { ...volume.spec, claimRef } } as Volume;
}
