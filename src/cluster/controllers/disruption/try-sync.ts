import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { isPodReady } from "../../../staging/apimachinery/api/pod.js";
import {
  conditionsAreUpToDate,
  type PodDisruptionBudget,
  type PodDisruptionBudgetStatus,
  withDisruptionAllowed,
  withSyncFailed,
} from "../../../staging/apimachinery/policyv1/pod-disruption-budget.js";
import { sameJson } from "../../../staging/apimachinery/same-json.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import { messageOf } from "../../../util/errors.js";
import { labelSelectorText } from "../support/label-selector-text.js";
import type { OwnWrites } from "../support/own-writes.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { decide } from "../support/sync-loop.js";
import { type ExpectedPods, getExpectedPodCount, type ScaleLookup } from "./expected-pods.js";

const FILE = "pkg/controller/disruption/disruption.go";
export const BUDGETS = "poddisruptionbudgets.policy";
/** An evicted pod that is not marked for deletion after this time is not expected to be deleted any more. */
const DELETION_TIMEOUT_MS = 2 * 60_000;

type DisruptedPods = Readonly<Record<string, string>>;

export interface SyncDeps extends Pick<SharedDeps, "client" | "clock" | "trace"> {
  readonly recorder: EventRecorder;
  readonly lookup: ScaleLookup;
  /** gets what each sync writes */
  readonly written: OwnWrites<PodDisruptionBudget>;
}

/**
 * Counts the pods of a budget, and writes how many may be disrupted. Mirrors trySync.
 * @param pods those that the selector matches
 * @returns after how many ms it must be synced again, because an evicted pod may not end
 * @throws Error if the numbers cannot be computed, or the API server refuses them
 */
export async function trySync(
  deps: SyncDeps,
  budget: PodDisruptionBudget,
  pods: readonly PodObject[],
): Promise<number | undefined> {
  const { recorder, clock } = deps;
  const about = referenceTo(budget);
  if (pods.length === 0) recorder.event(about, "Normal", "NoPods", "No matching pods found");
  const expected = expectedPods(deps, budget, pods);
  if (expected.unmanagedPods.length > 0) recorder.event(about, "Warning", "UnmanagedPods", unmanagedText(budget));
  const nowMs = clock.now();
  const { disruptedPods, recheckMs } = buildDisruptedPodMap(deps, budget, pods, nowMs);
  const currentHealthy = countHealthyPods(pods, disruptedPods, nowMs);
  await updatePdbStatus(deps, budget, expected, currentHealthy, disruptedPods);
  // The time itself still counts.
  return recheckMs === undefined ? undefined : recheckMs - nowMs + 1;
}

function expectedPods(
  { recorder, lookup }: SyncDeps,
  budget: PodDisruptionBudget,
  pods: readonly PodObject[],
): ExpectedPods {
  try {
    return getExpectedPodCount(budget, pods, lookup);
  } catch (error) {
    const message = `Failed to calculate the number of expected pods: ${messageOf(error)}`;
    recorder.event(referenceTo(budget), "Warning", "CalculateExpectedPodCountFailed", message);
    throw error;
  }
}

function unmanagedText({ spec }: PodDisruptionBudget): string {
  const selector = labelSelectorText(spec?.selector ?? {});
  return `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`;
}

/** The evicted pods that are still expected to be deleted. Mirrors buildDisruptedPodMap. */
function buildDisruptedPodMap(
  { recorder }: SyncDeps,
  { metadata, status }: PodDisruptionBudget,
  pods: readonly PodObject[],
  nowMs: number,
): { readonly disruptedPods: DisruptedPods; readonly recheckMs: number | undefined } {
  const disruptedPods: Record<string, string> = {};
  let recheckMs: number | undefined;
  for (const pod of pods) {
    const time = status?.disruptedPods?.[nameOf(pod)];
    if (typeof time !== "string" || isTerminating(pod)) continue;
    const expectedMs = Date.parse(time) + DELETION_TIMEOUT_MS;
    if (expectedMs < nowMs) {
      const { namespace } = metadata;
      // Upstream prints the namespace in place of the name.
      const message = `Pod was expected by PDB ${namespace}/${namespace} to be deleted but it wasn't`;
      recorder.event(referenceTo(pod), "Warning", "NotDeleted", message);
      continue;
    }
    disruptedPods[nameOf(pod)] = time;
    recheckMs = Math.min(recheckMs ?? expectedMs, expectedMs);
  }
  return { disruptedPods, recheckMs };
}

/** Mirrors countHealthyPods. */
function countHealthyPods(pods: readonly PodObject[], disruptedPods: DisruptedPods, nowMs: number): number {
  const isExpectedToEnd = (pod: PodObject) => {
    const time = disruptedPods[nameOf(pod)];
    return time !== undefined && Date.parse(time) + DELETION_TIMEOUT_MS > nowMs;
  };
  return pods.filter((pod) => !isTerminating(pod) && !isExpectedToEnd(pod) && isPodReady(pod)).length;
}

/** Mirrors updatePdbStatus. */
async function updatePdbStatus(
  deps: SyncDeps,
  budget: PodDisruptionBudget,
  { expectedCount, desiredHealthy, why }: ExpectedPods,
  currentHealthy: number,
  disruptedPods: DisruptedPods,
): Promise<void> {
  // A budget without pods allows nothing: its first pods may come before the next sync.
  const disruptionsAllowed = expectedCount <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
  const { status: before, metadata } = budget;
  const numbers = { disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods: expectedCount };
  const isSame =
    Object.entries(numbers).every(([name, count]) => before?.[name as keyof typeof numbers] === count) &&
    sameJson(before?.disruptedPods ?? {}, disruptedPods) &&
    (before?.observedGeneration ?? 0) === (metadata.generation ?? 0);
  if (isSame && conditionsAreUpToDate(budget)) return;
  const disrupted = Object.keys(disruptedPods);
  const status: PodDisruptionBudgetStatus = {
    observedGeneration: metadata.generation ?? 0,
    ...(disrupted.length === 0 ? {} : { disruptedPods }),
    ...numbers,
    ...(before?.conditions === undefined ? {} : { conditions: before.conditions }),
  };
  const ending = disrupted.length === 0 ? "" : `, pods ${disrupted.join(", ")} are evicted and do not count`;
  await write(deps, budget, withDisruptionAllowed(status, deps.clock.now()), {
    what: `allow ${disruptionsAllowed} disruptions by PodDisruptionBudget ${keyOf(budget)}`,
    why: `${currentHealthy} pods are healthy${ending}, and ${desiredHealthy} must be: ${why}`,
    func: "updatePdbStatus",
  });
}

/** If nothing else works, the budget at least allows no disruption. Mirrors failSafe. */
export async function failSafe(deps: SyncDeps, budget: PodDisruptionBudget, error: unknown): Promise<void> {
  const before = budget.status ?? { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  const why = messageOf(error);
  const status = withSyncFailed(before, why, deps.clock.now());
  const what = `allow no disruption by PodDisruptionBudget ${keyOf(budget)}`;
  await write(deps, budget, status, { what, why, func: "failSafe" });
}

async function write(
  { client, trace, written }: SyncDeps,
  budget: PodDisruptionBudget,
  status: PodDisruptionBudgetStatus,
  { what, why, func }: { readonly what: string; readonly why: string; readonly func: string },
): Promise<void> {
  if (sameJson(budget.status, status)) return;
  const update = () => client.update<PodDisruptionBudget>(BUDGETS, { ...budget, status }, "status");
  written.remember(await decide(trace, { what, why, upstream: { file: FILE, func } }, update));
}
