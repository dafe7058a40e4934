import { isTerminating } from "../../../staging/apimachinery/api/objects.js";
import type { PodDisruptionBudget } from "../../../staging/apimachinery/policyv1/pod-disruption-budget.js";
import type { Random } from "../../../util/random.js";
import type { SchedulerCache } from "../cache.js";
import { type Diagnosis, fitErrorMessage } from "../fit-error.js";
import type { Rejection } from "../framework.js";
import type { NodeInfo, PodInfo } from "../node-info.js";
import type { Nominator } from "../nominator.js";
import { priorityOf } from "../objects.js";
import { FilterRun, type Profile } from "../profile.js";
import { filterPodsWithPdbViolation } from "./pdb-violation.js";

/** The result for a pod that fits nowhere: a node on which victims make room, or why there is no such node. */
export type PreemptionResult =
  | ({ readonly outcome: "nominated" } & Candidate)
  | {
      readonly outcome: "not-helpful";
      readonly message: string;
      /** true while an earlier preemption for the pod is under way */
      readonly keepsNomination: boolean;
    };

interface Candidate {
  readonly nodeName: string;
  /** sorted by importance, the most important first */
  readonly victims: readonly PodInfo[];
  /** the number of victims that a disruption budget protects */
  readonly violations: number;
}

/** Tries this percentage of the nodes where preemption could help, but at least MIN_CANDIDATES. */
const MIN_CANDIDATE_PERCENTAGE = 10;
const MIN_CANDIDATES = 100;

const NOT_HELPFUL = rejection("UnschedulableAndUnresolvable", "Preemption is not helpful for scheduling");
const NO_VICTIMS = rejection("UnschedulableAndUnresolvable", "No preemption victims found for incoming pod");

function rejection(code: Rejection["code"], reason: string): Rejection {
  return { code, plugin: "DefaultPreemption", reasons: [reason] };
}

export interface PreemptionDeps {
  readonly profile: Profile;
  readonly budgets: () => readonly PodDisruptionBudget[];
  readonly cache: SchedulerCache;
  readonly nominator: Nominator;
  readonly random: Random;
}

/**
 * Looks for a node on which a pod would fit without the pods of lower priority. Changes nothing.
 *
 * Mirrors pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go and
 * pkg/scheduler/framework/preemption/preemption.go (Preempt, findCandidates, DryRunPreemption, SelectCandidate).
 * Differs: takes the first of equal nodes, not a random one.
 */
export function preempt(deps: PreemptionDeps, pod: PodInfo, diagnosis: Diagnosis): PreemptionResult {
  const notEligible = whyNotEligible(deps, pod, diagnosis);
  if (notEligible !== undefined) {
    return { outcome: "not-helpful", message: `preemption: ${notEligible}`, keepsNomination: true };
  }
  const { candidates, rejections } = findCandidates(deps, pod, diagnosis);
  const best = pickOneNode(candidates);
  if (best !== undefined) return { outcome: "nominated", ...best };
  const message = fitErrorMessage({ allNodes: rejections.size, rejections });
  return { outcome: "not-helpful", message: `preemption: ${message}`, keepsNomination: false };
}

/** Mirrors PodEligibleToPreemptOthers: a pod that has preempted others waits until its victims are gone. */
function whyNotEligible(deps: PreemptionDeps, { pod }: PodInfo, { rejections }: Diagnosis): string | undefined {
  if (pod.spec?.preemptionPolicy === "Never") return "not eligible due to preemptionPolicy=Never.";
  const nominated = pod.status?.["nominatedNodeName"];
  if (typeof nominated !== "string" || nominated === "") return undefined;
  if (rejections.get(nominated)?.code === "UnschedulableAndUnresolvable") return undefined;
  const pods = [...(deps.cache.node(nominated)?.pods.values() ?? [])];
  const isLeaving = pods.some((one) => isTerminating(one.pod) && priorityOf(one.pod) < priorityOf(pod));
  return isLeaving ? "not eligible due to a terminating pod on the nominated node." : undefined;
}

function findCandidates(deps: PreemptionDeps, pod: PodInfo, diagnosis: Diagnosis) {
  const rejections = new Map<string, Rejection>();
  const potential: NodeInfo[] = [];
  for (const node of deps.cache.nodes()) {
    const isHopeless = diagnosis.rejections.get(node.name)?.code === "UnschedulableAndUnresolvable";
    if (isHopeless) rejections.set(node.name, NOT_HELPFUL);
    else potential.push(node);
  }
  const enough = Math.max(Math.floor((potential.length * MIN_CANDIDATE_PERCENTAGE) / 100), MIN_CANDIDATES);
  const offset = Math.floor(deps.random.float() * potential.length);
  const candidates: Candidate[] = [];
  const filters = new FilterRun(deps.profile, deps.nominator, pod, deps.cache.nodes());
  const budgets = deps.budgets();
  // One candidate that violates no budget is always looked for.
  const isEnough = () => candidates.length >= enough && candidates.some(({ violations }) => violations === 0);
  for (let i = 0; i < potential.length && !isEnough(); i++) {
    const node = potential[(offset + i) % potential.length];
    if (node === undefined) continue;
    const found = selectVictimsOnNode(filters, node, budgets);
    if ("victims" in found) candidates.push(found);
    else rejections.set(node.name, found);
  }
  return { candidates, rejections };
}

/**
 * Removes all pods of lower priority from a copy of the node, then adds back those that still fit: first those that budgets protect,
 * and of both groups the most important first. Mirrors SelectVictimsOnNode.
 */
function selectVictimsOnNode(
  filters: FilterRun,
  occupied: NodeInfo,
  budgets: readonly PodDisruptionBudget[],
): Candidate | Rejection {
  const lower = [...occupied.pods.values()].filter((one) => priorityOf(one.pod) < priorityOf(filters.pod.pod));
  if (lower.length === 0) return NO_VICTIMS;
  const node = occupied.clone();
  for (const { key } of lower) node.removePod(key);
  const stillNot = filters.with(node).reject(node);
  if (stillNot !== undefined) return stillNot;
  const staysOut = (one: PodInfo): boolean => {
    node.addPod(one);
    if (filters.with(node).reject(node) === undefined) return false;
    node.removePod(one.key);
    return true;
  };
  const { violating, nonViolating } = filterPodsWithPdbViolation(lower.sort(moreImportantFirst), budgets);
  const violatingVictims = violating.filter(staysOut);
  const victims = [...violatingVictims, ...nonViolating.filter(staysOut)].sort(moreImportantFirst);
  return { nodeName: occupied.name, victims, violations: violatingVictims.length };
}

/** Mirrors MoreImportantPod in pkg/scheduler/util/utils.go: higher priority first, then the earlier start. */
function moreImportantFirst(a: PodInfo, b: PodInfo): number {
  return priorityOf(b.pod) - priorityOf(a.pod) || startText(a).localeCompare(startText(b));
}

/** RFC 3339 in UTC, which sorts as text. A pod that has not started counts as the youngest. */
function startText({ pod }: PodInfo): string {
  const start = pod.status?.["startTime"];
  return typeof start === "string" ? start : "~";
}

/** 2^31: keeps the sum growing with each victim, also for negative priorities. */
const PRIORITY_OFFSET = 2_147_483_648;

/**
 * Picks the node whose victims matter least: the fewest that budgets protect, the lowest maximum priority, the lowest sum, the fewest, the youngest.
 * Mirrors pickOneNodeForPreemption.
 */
function pickOneNode(candidates: readonly Candidate[]): Candidate | undefined {
  const measures: readonly ((one: Candidate) => number | string)[] = [
    ({ violations }) => violations,
    ({ victims: [first] }) => (first === undefined ? 0 : priorityOf(first.pod)),
    ({ victims }) => victims.reduce((sum, { pod }) => sum + priorityOf(pod) + PRIORITY_OFFSET, 0),
    ({ victims }) => victims.length,
  ];
  let left = candidates;
  for (const measure of measures) {
    const values = left.map(measure);
    const least = values.reduce((a, b) => (b < a ? b : a), values[0] ?? 0);
    left = left.filter((_, i) => values[i] === least);
  }
  return left.reduce<Candidate | undefined>(
    (best, one) => (best === undefined || earliestStart(one) > earliestStart(best) ? one : best),
    undefined,
  );
}

/** The start of the oldest victim with the highest priority. Mirrors GetEarliestPodStartTime. */
function earliestStart({ victims }: Candidate): string {
  const [first] = victims;
  const highest = victims.filter(({ pod }) => first !== undefined && priorityOf(pod) === priorityOf(first.pod));
  return highest.map(startText).sort()[0] ?? "";
}
