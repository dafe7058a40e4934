import type { V1Affinity, V1ControllerRevision, V1DaemonSet, V1Toleration } from "@kubernetes/client-node";
import type { PodObject } from "../../../../staging/apimachinery/api/objects.js";
import { withToleration } from "../../../../staging/apimachinery/corev1/tolerations.js";
import { scaledValue } from "../../../../staging/apimachinery/int-or-string.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import type { PodTemplate } from "../../support/pod-control.js";

/** Pure functions about a DaemonSet and its pods. Mirrors pkg/controller/daemon/util/daemonset_util.go. */

export type DaemonSet = Wire<V1DaemonSet>;
export type ControllerRevision = Wire<V1ControllerRevision>;
type Toleration = Wire<V1Toleration>;
type Affinity = Wire<V1Affinity>;
type PodSpec = NonNullable<PodTemplate["spec"]>;

export const DAEMON_SETS = "daemonsets.apps";

/** The label by which a pod names the revision of its template. Mirrors DefaultDaemonSetUniqueLabelKey. */
export const REVISION_HASH = "controller-revision-hash";
const TEMPLATE_GENERATION_LABEL = "pod-template-generation";
const TEMPLATE_GENERATION_ANNOTATION = "deprecated.daemonset.template.generation";

const NODE = "node.kubernetes.io";

/** A daemon pod outlives the problems of its node: neither eviction nor the scheduler's taints keep it away. */
const TOLERATIONS: readonly Toleration[] = [
  { key: `${NODE}/not-ready`, operator: "Exists", effect: "NoExecute" },
  { key: `${NODE}/unreachable`, operator: "Exists", effect: "NoExecute" },
  { key: `${NODE}/disk-pressure`, operator: "Exists", effect: "NoSchedule" },
  { key: `${NODE}/memory-pressure`, operator: "Exists", effect: "NoSchedule" },
  { key: `${NODE}/pid-pressure`, operator: "Exists", effect: "NoSchedule" },
  { key: `${NODE}/unschedulable`, operator: "Exists", effect: "NoSchedule" },
];

/** Such a pod may be what gives the node its network. */
const OF_HOST_NETWORK: Toleration = { key: `${NODE}/network-unavailable`, operator: "Exists", effect: "NoSchedule" };

/** The tolerations of a template's pods. Mirrors AddOrUpdateDaemonPodTolerations. */
export function daemonPodTolerations(spec: PodTemplate["spec"]): readonly Toleration[] {
  const added = spec?.hostNetwork === true ? [...TOLERATIONS, OF_HOST_NETWORK] : TOLERATIONS;
  return added.reduce<readonly Toleration[]>(withToleration, spec?.tolerations ?? []);
}

/** The template of one node's pod. Mirrors CreatePodTemplate and ReplaceDaemonSetPodNodeNameNodeAffinity. */
export function createPodTemplate({ metadata, spec }: DaemonSet, hash: string, nodeName: string): PodTemplate {
  const { template } = spec ?? {};
  const generation = metadata.annotations?.[TEMPLATE_GENERATION_ANNOTATION] ?? "";
  const labels = {
    ...template?.metadata?.labels,
    ...(/^[+-]?\d+$/.test(generation) ? { [TEMPLATE_GENERATION_LABEL]: String(BigInt(generation)) } : {}),
    [REVISION_HASH]: hash,
  };
  const tolerations = daemonPodTolerations(template?.spec);
  const affinity = withNodeName(template?.spec?.affinity, nodeName);
  return {
    metadata: { ...template?.metadata, labels },
    spec: { ...template?.spec, affinity, tolerations } as PodSpec,
  };
}

/** The scheduler binds the pod to this node; what the template required of nodes was checked before. */
function withNodeName(affinity: Affinity | null | undefined, nodeName: string): Affinity {
  const nodeSelectorTerms = [{ matchFields: [{ key: "metadata.name", operator: "In", values: [nodeName] }] }];
  const requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms };
  return {
    ...affinity,
    nodeAffinity: { ...affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution },
  } as Affinity;
}

/**
 * The node that a pod runs on or waits for. Mirrors GetTargetNodeName.
 * @returns undefined for a pod without a node whose affinity names none
 */
export function targetNodeName({ spec }: PodObject): string | undefined {
  if ((spec?.nodeName ?? "") !== "") return spec?.nodeName;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const fields = (required?.nodeSelectorTerms ?? []).flatMap(({ matchFields }) => matchFields ?? []);
  const names = fields.find(({ key, operator }) => key === "metadata.name" && operator === "In")?.values ?? [];
  return names.length === 1 ? names[0] : undefined;
}

/** How many nodes of `desired` may have a second, newer pod during an update. Mirrors SurgeCount. */
export function surgeCount({ spec }: DaemonSet, desired: number): number {
  const { type, rollingUpdate } = spec?.updateStrategy ?? {};
  return type === "RollingUpdate" ? scaledValue(rollingUpdate?.maxSurge ?? 0, desired, true) : 0;
}

/** On how many nodes of `desired` an update may leave no available pod. Mirrors UnavailableCount. */
export function unavailableCount({ spec }: DaemonSet, desired: number): number {
  const { type, rollingUpdate } = spec?.updateStrategy ?? {};
  return type === "RollingUpdate" ? scaledValue(rollingUpdate?.maxUnavailable ?? 0, desired, true) : 0;
}

/** Mirrors AllowsSurge. */
export function allowsSurge(set: DaemonSet): boolean {
  return surgeCount(set, 1) > 0;
}

/**
 * Reports whether the pod was made from the template with this hash. Mirrors IsPodUpdated.
 * Differs: upstream also compares the generation of the template, but prints the address of the number, which no label equals.
 */
export function isPodUpdated({ metadata }: PodObject, hash: string): boolean {
  return hash !== "" && metadata.labels?.[REVISION_HASH] === hash;
}

/** Pods with a node first, then the oldest. Mirrors podByCreationTimestampAndPhase. */
export function byCreationTimestampAndPhase(a: PodObject, b: PodObject): number {
  const [aWaits, bWaits] = [a, b].map(({ spec }) => (spec?.nodeName ?? "") === "");
  if (aWaits !== bWaits) return aWaits ? 1 : -1;
  const [aMs, bMs] = [a, b].map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ""));
  return (aMs ?? 0) - (bMs ?? 0) || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1);
}
