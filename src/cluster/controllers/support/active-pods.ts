import { isTerminating, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { isPodPhaseTerminal, isPodReady, podReadyTimeMs } from "../../../staging/apimachinery/api/pod.js";

/** Reports whether a pod runs or will run. Mirrors IsPodActive in pkg/controller/controller_utils.go. */
export function isPodActive(pod: PodObject): boolean {
  return !isPodPhaseTerminal(pod.status?.phase) && !isTerminating(pod);
}

const POD_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";

const PHASE_ORDINAL: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

interface RankedPod {
  readonly pod: PodObject;
  /** number of related active pods on the same node */
  readonly rank: number;
}

/** One reason why a pod is deleted before another. */
interface Rule {
  /** what the pod that goes has: `a lower deletion cost` */
  readonly name: string;
  /** negative: `a` is deleted first */
  compare(a: RankedPod, b: RankedPod, nowMs: number): number;
}

/**
 * In upstream's order: a rule decides only between pods that are equal by all rules before it.
 * Mirrors ActivePodsWithRanks.Less in pkg/controller/controller_utils.go.
 */
const RULES: readonly Rule[] = [
  { name: "no node", compare: (a, b) => Number(hasNode(a)) - Number(hasNode(b)) },
  { name: "an earlier phase", compare: (a, b) => phaseOf(a) - phaseOf(b) },
  { name: "no readiness", compare: (a, b) => Number(isPodReady(a.pod)) - Number(isPodReady(b.pod)) },
  { name: "a lower deletion cost", compare: (a, b) => deletionCostOf(a.pod) - deletionCostOf(b.pod) },
  { name: "more related pods on its node", compare: (a, b) => b.rank - a.rank },
  {
    name: "been ready for a shorter time",
    compare: (a, b, nowMs) => youngerFirst(a, b, [podReadyTimeMs(a.pod), podReadyTimeMs(b.pod)], nowMs),
  },
  { name: "more restarts", compare: (a, b) => restartsOf(b) - restartsOf(a) },
  { name: "a lower age", compare: (a, b, nowMs) => youngerFirst(a, b, [createdMs(a), createdMs(b)], nowMs) },
];

export interface PodToDelete {
  readonly pod: PodObject;
  /** `it has no node` */
  readonly why: string;
}

/**
 * The pods that a workload with too many should delete. If all go, they keep their order.
 * Mirrors getPodsToDelete in pkg/controller/replicaset/replica_set.go.
 * @param relatedPods pods of all workloads with the same owner: of two pods, the one on a node with more of them goes first
 */
export function choosePodsToDelete(
  pods: readonly PodObject[],
  relatedPods: readonly PodObject[],
  count: number,
  nowMs: number,
): PodToDelete[] {
  if (count >= pods.length) return pods.map((pod) => ({ pod, why: "all pods go" }));
  const onNode = new Map<string, number>();
  for (const pod of relatedPods) {
    const nodeName = pod.spec?.nodeName ?? "";
    if (isPodActive(pod)) onNode.set(nodeName, (onNode.get(nodeName) ?? 0) + 1);
  }
  const ranked = pods.map((pod) => ({ pod, rank: onNode.get(pod.spec?.nodeName ?? "") ?? 0 }));
  ranked.sort((a, b) => compareForDeletion(a, b, nowMs).order);
  const kept = ranked.slice(count);
  return ranked.slice(0, count).map((one) => {
    for (const other of kept) {
      const { order, why } = compareForDeletion(one, other, nowMs);
      if (order !== 0) return { pod: one.pod, why };
    }
    return { pod: one.pod, why: "it is equal to the others" };
  });
}

function compareForDeletion(a: RankedPod, b: RankedPod, nowMs: number) {
  for (const { name, compare } of RULES) {
    const order = compare(a, b, nowMs);
    if (order !== 0) return { order, why: `it has ${name}` };
  }
  return { order: 0, why: "" };
}

function hasNode({ pod }: RankedPod): boolean {
  return (pod.spec?.nodeName ?? "") !== "";
}

function phaseOf({ pod }: RankedPod): number {
  return PHASE_ORDINAL[pod.status?.phase ?? ""] ?? 0;
}

/**
 * Ages count by their power of two, so that pods of about the same age go in a random order: that of their UIDs. Pods without a time
 * go first. Mirrors afterOrZero and logarithmicRankDiff.
 */
function youngerFirst(
  { pod: a }: RankedPod,
  { pod: b }: RankedPod,
  [aMs, bMs]: readonly [number | undefined, number | undefined],
  nowMs: number,
): number {
  if (aMs === bMs) return 0;
  if (aMs === undefined || bMs === undefined) return aMs === undefined ? -1 : 1;
  const difference = logarithmicRank(nowMs - aMs) - logarithmicRank(nowMs - bMs);
  if (difference !== 0) return difference;
  return (a.metadata.uid ?? "") < (b.metadata.uid ?? "") ? -1 : 1;
}

function logarithmicRank(ageMs: number): number {
  return ageMs > 0 ? Math.trunc(Math.log2(ageMs * NANOS_PER_MS)) : -1;
}

const NANOS_PER_MS = 1e6;

function createdMs({ pod }: RankedPod): number | undefined {
  const ms = Date.parse(pod.metadata.creationTimestamp ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}

function restartsOf({ pod }: RankedPod): number {
  return Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
}

/** An invalid cost counts as 0. Mirrors getDeletionCostFromPodAnnotations in pkg/apis/core/helper/helpers.go. */
function deletionCostOf({ metadata }: PodObject): number {
  const text = metadata.annotations?.[POD_DELETION_COST] ?? "";
  // Mirrors validFirstDigit: no plus sign and no leading zeros.
  if (!/^(?:0|-?[1-9]\d*)$/.test(text)) return 0;
  const cost = Number(text);
  return Math.abs(cost) <= 2_147_483_648 ? cost : 0;
}

/**
 * When to look again at a pod that has just become ready: then it counts as available.
 * @returns ms; undefined if it has not, or if ready pods are available at once
 */
export function availableAfterMs(previous: PodObject, pod: PodObject, minReadySeconds = 0): number | undefined {
  if (minReadySeconds <= 0 || isPodReady(previous) || !isPodReady(pod)) return undefined;
  // One more second, because the time of a condition has no fraction.
  return (minReadySeconds + 1) * 1000;
}
