import type { V1Volume } from "@kubernetes/client-node";
import { isTerminating, nameOf } from "../../../staging/apimachinery/api/objects.js";
import { type ClaimReference, claimReferenceOf } from "../../../staging/apimachinery/corev1/pod-references.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import {
  type Claim,
  isDelayBindingMode,
  isFullyBound,
  isReachableFrom,
} from "../../../staging/component-helpers/storage/volume.js";
import {
  type ClusterEvent,
  type FilterPlugin,
  NODE_EVENTS,
  type PreBindPlugin,
  type PreFilterResult,
  type Rejection,
} from "../framework.js";
import type { VolumeLookups } from "../lookups.js";
import type { NodeInfo, PodInfo } from "../node-info.js";
import type { SchedulablePod } from "../objects.js";
import type { VolumeBinder } from "./volume-binder.js";

const NAME = "VolumeBinding";

/** Changes of claims, volumes and storage classes. */
export const VOLUME_EVENTS = {
  persistentvolumeclaims: ["PvcAdd", "PvcUpdate"],
  persistentvolumes: ["PvAdd", "PvUpdate"],
  "storageclasses.storage.k8s.io": ["StorageClassAdd", "StorageClassUpdate"],
} as const satisfies Readonly<Record<string, readonly [ClusterEvent, ClusterEvent]>>;

function rejection(reason: string): Rejection {
  return { code: "UnschedulableAndUnresolvable", plugin: NAME, reasons: [reason] };
}

const UNBOUND = rejection("pod has unbound immediate PersistentVolumeClaims");
const NOTHING_TO_BIND = rejection("node(s) didn't find available persistent volumes to bind");
const NO_VOLUME = rejection("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
const CONFLICT = rejection("node(s) had volume node affinity conflict");

/**
 * Keeps a pod waiting until its claims are bound or can be bound on a node, and on nodes that reach their volumes.
 * Mirrors pkg/scheduler/framework/plugins/volumebinding (PreFilter, Filter, Reserve, PreBind).
 */
export function volumeBinding(lookups: VolumeLookups, binder: VolumeBinder): FilterPlugin & PreBindPlugin {
  const claimsFor = ({ pod }: PodInfo) =>
    claimsOf(pod).flatMap(({ name }) => lookups.claim(pod.metadata.namespace, name) ?? []);
  return {
    name: NAME,
    events: [...NODE_EVENTS, ...Object.values(VOLUME_EVENTS).flat()],
    preFilter: ({ pod }) => checkClaims(lookups, pod),
    skips: ({ pod }) => claimsOf(pod).length === 0,
    filter(pod, node) {
      const claims = claimsFor(pod);
      for (const claim of claims.filter(isFullyBound)) {
        const rejected = checkVolume(lookups, claim, node);
        if (rejected !== undefined) return rejected;
      }
      return binder.find(claims, node) === undefined ? NOTHING_TO_BIND : undefined;
    },
    reserve: (pod, node) => binder.reserve(claimsFor(pod), node),
  };
}

function claimsOf(pod: SchedulablePod): ClaimReference[] {
  return (pod.spec?.volumes ?? []).flatMap((volume: Wire<V1Volume>) => claimReferenceOf(pod, volume) ?? []);
}

/** Mirrors podHasPVCs and the first part of GetPodVolumes. */
function checkClaims(lookups: VolumeLookups, pod: SchedulablePod): PreFilterResult {
  const claims: Claim[] = [];
  for (const { name, isEphemeral } of claimsOf(pod)) {
    const claim = lookups.claim(pod.metadata.namespace, name);
    const problem = claim === undefined ? missing(name, isEphemeral) : problemOf(claim);
    if (problem !== undefined) return { rejection: rejection(problem) };
    if (claim !== undefined) claims.push(claim);
  }
  const isUnbound = claims.some((claim) => !isFullyBound(claim) && !waitsForFirstConsumer(lookups, claim));
  return isUnbound ? { rejection: UNBOUND } : undefined;
}

function missing(name: string, isEphemeral: boolean): string {
  return isEphemeral
    ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
    : `persistentvolumeclaim "${name}" not found`;
}

function problemOf(claim: Claim): string | undefined {
  const title = `persistentvolumeclaim "${nameOf(claim)}"`;
  if (claim.status?.phase === "Lost")
    return `${title} bound to non-existent persistentvolume "${claim.spec?.volumeName}"`;
  return isTerminating(claim) ? `${title} is being deleted` : undefined;
}

/** Mirrors IsDelayBindingMode; a claim that names its volume does not wait. */
function waitsForFirstConsumer({ storageClass }: VolumeLookups, claim: Claim): boolean {
  return isDelayBindingMode(claim, storageClass) && (claim.spec?.volumeName ?? "") === "";
}

/** Mirrors checkBoundClaims. */
function checkVolume(lookups: VolumeLookups, claim: Claim, { node }: NodeInfo): Rejection | undefined {
  const volume = lookups.volume(claim.spec?.volumeName ?? "");
  if (volume === undefined) return NO_VOLUME;
  return node === undefined || isReachableFrom(volume, node) ? undefined : CONFLICT;
}
