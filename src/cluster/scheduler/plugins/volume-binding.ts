import type { V1PersistentVolumeClaim, V1Volume } from "@kubernetes/client-node";
import { isTerminating, nameOf } from "../../../staging/apimachinery/api/objects.js";
import { matchesNodeSelectorTerm } from "../../../staging/apimachinery/corev1/node-affinity.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { isSet } from "../../../util/records.js";
import {
  type ClusterEvent,
  type FilterPlugin,
  NODE_EVENTS,
  type PreFilterResult,
  type Rejection,
} from "../framework.js";
import type { ClusterLookups } from "../lookups.js";
import type { NodeInfo } from "../node-info.js";
import type { SchedulablePod } from "../objects.js";

const NAME = "VolumeBinding";
const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";

/** Changes of claims, volumes and storage classes. */
export const VOLUME_EVENTS = {
  persistentvolumeclaims: ["PvcAdd", "PvcUpdate"],
  persistentvolumes: ["PvAdd", "PvUpdate"],
  "storageclasses.storage.k8s.io": ["StorageClassAdd", "StorageClassUpdate"],
} as const satisfies Readonly<Record<string, readonly [ClusterEvent, ClusterEvent]>>;

type Claim = Wire<V1PersistentVolumeClaim>;
export type VolumeLookups = Pick<ClusterLookups, "claim" | "volume" | "storageClass">;

function rejection(reason: string): Rejection {
  return { code: "UnschedulableAndUnresolvable", plugin: NAME, reasons: [reason] };
}

const UNBOUND = rejection("pod has unbound immediate PersistentVolumeClaims");
const NOTHING_TO_BIND = rejection("node(s) didn't find available persistent volumes to bind");
const NO_VOLUME = rejection("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
const CONFLICT = rejection("node(s) had volume node affinity conflict");

/**
 * Keeps a pod waiting until its claims are bound, and on nodes that reach their volumes.
 * Mirrors pkg/scheduler/framework/plugins/volumebinding (PreFilter, Filter).
 * Differs: nothing binds or provisions a volume here, so a claim that waits for its first pod finds none.
 */
export function volumeBinding(lookups: VolumeLookups): FilterPlugin {
  return {
    name: NAME,
    events: [...NODE_EVENTS, ...Object.values(VOLUME_EVENTS).flat()],
    preFilter: ({ pod }) => checkClaims(lookups, pod),
    skips: ({ pod }) => claimsOf(pod).length === 0,
    filter({ pod }, node) {
      for (const { name } of claimsOf(pod)) {
        const claim = lookups.claim(pod.metadata.namespace, name);
        const rejected = claim && checkVolume(lookups, claim, node);
        if (rejected !== undefined) return rejected;
      }
      return undefined;
    },
  };
}

interface ClaimReference {
  readonly name: string;
  readonly isEphemeral: boolean;
}

function claimsOf(pod: SchedulablePod): ClaimReference[] {
  return (pod.spec?.volumes ?? []).flatMap((volume: Wire<V1Volume>): ClaimReference[] => {
    const { persistentVolumeClaim, ephemeral, name } = volume;
    if (isSet(persistentVolumeClaim)) return [{ name: persistentVolumeClaim.claimName, isEphemeral: false }];
    return isSet(ephemeral) ? [{ name: `${nameOf(pod)}-${name}`, isEphemeral: true }] : [];
  });
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

/** Mirrors isPVCFullyBound. */
function isFullyBound({ spec, metadata }: Claim): boolean {
  return (spec?.volumeName ?? "") !== "" && metadata.annotations?.[BIND_COMPLETED] !== undefined;
}

/** Mirrors IsDelayBindingMode; a claim that names its volume does not wait. */
function waitsForFirstConsumer({ storageClass }: VolumeLookups, { spec }: Claim): boolean {
  const mode = storageClass(spec?.storageClassName ?? "")?.volumeBindingMode;
  return mode === "WaitForFirstConsumer" && (spec?.volumeName ?? "") === "";
}

/** Mirrors FindPodVolumes. */
function checkVolume(lookups: VolumeLookups, claim: Claim, { node }: NodeInfo): Rejection | undefined {
  if (!isFullyBound(claim)) return NOTHING_TO_BIND;
  const volume = lookups.volume(claim.spec?.volumeName ?? "");
  if (volume === undefined) return NO_VOLUME;
  const terms = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms === undefined || (node !== undefined && terms.some((term) => matchesNodeSelectorTerm(term, node)))) {
    return undefined;
  }
  return CONFLICT;
}
