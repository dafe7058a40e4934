import type { V1Eviction, V1Pod, V1PodDisruptionBudget } from "@kubernetes/client-node";
import { isPodPhaseTerminal, isPodReady, type V1PodStatus } from "../../../../apimachinery/api/pod.js";
import { badRequest, internalError, type StatusError, statusError } from "../../../../apimachinery/errors.js";
import { scaledValue } from "../../../../apimachinery/int-or-string.js";
import type { Wire } from "../../../../apimachinery/wire.js";
import { defined } from "../../../../util/defined.js";
import { isSet } from "../../../../util/records.js";
import type { ActionHandler, ActionRequest } from "../../../apiserver/action.js";
import type { DeleteOptions } from "../../registry.js";
import { matchesSelector } from "../selector.js";
import { CREATED } from "./binding.js";

type Budget = Wire<V1PodDisruptionBudget>;
type Eviction = Wire<V1Eviction>;

const REFUSED = "Cannot evict pod as it would violate the pod's disruption budget.";
const SEVERAL_BUDGETS =
  "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";

/**
 * Deletes a pod, unless that violates its disruption budget.
 *
 * Mirrors pkg/registry/core/pod/storage/eviction.go (EvictionREST.Create). Differs: there is no disruption controller,
 * so the status of a budget is computed here, on demand.
 */
export const evictPod: ActionHandler = async (request) => {
  const { context, registry, namespace, name = "", body } = request;
  if (body !== undefined && (body.metadata.name ?? "") !== name) {
    throw badRequest("name in URL does not match name in Eviction object");
  }
  const dryRun = isDryRun(request);
  const pod = (await registry.store("pods").get(namespace, name)) as Wire<V1Pod>;
  if (!canIgnoreBudgets(pod)) await requireBudget(request, pod);
  await registry
    .store("pods")
    .delete({ ...context, dryRun }, namespace, name, deleteOptions(body as Eviction | undefined));
  return CREATED;
};

/** Both the query and the body can request a dry run: `kubectl drain` uses the body. Mirrors propagateDryRun. */
function isDryRun({ context, body, query }: ActionRequest): boolean {
  const inBody = (body as Eviction | undefined)?.deleteOptions?.dryRun ?? [];
  const inQuery = query.getAll("dryRun");
  if (inBody.length > 0 && inQuery.length > 0 && inBody.join() !== inQuery.join()) {
    const both = `[${inQuery.join(" ")}] and [${inBody.join(" ")}]`;
    throw internalError(`Non-matching dry-run options in request and content: ${both}`);
  }
  return context.dryRun === true || inBody.length > 0;
}

function deleteOptions(eviction: Eviction | undefined): DeleteOptions {
  const { gracePeriodSeconds, preconditions, propagationPolicy } = eviction?.deleteOptions ?? {};
  const { uid, resourceVersion } = preconditions ?? {};
  return defined({
    gracePeriodSeconds,
    propagationPolicy: propagationPolicy || undefined,
    preconditions: preconditions && defined({ uid, resourceVersion }),
  });
}

/** A pod that does not run does not count for a budget. */
function canIgnoreBudgets({ metadata, status }: Wire<V1Pod>): boolean {
  return hasEnded(status) || status?.phase === "Pending" || metadata.deletionTimestamp !== undefined;
}

/** @throws StatusError 429 if the budget does not allow it */
async function requireBudget({ registry, namespace }: ActionRequest, pod: Wire<V1Pod>): Promise<void> {
  const budgets = await registry.store("poddisruptionbudgets.policy").list(namespace);
  const [budget, another] = (budgets.items as readonly Budget[]).filter((one) =>
    matchesSelector(one.spec?.selector, pod.metadata.labels),
  );
  if (budget === undefined) return;
  if (another !== undefined) throw internalError(SEVERAL_BUDGETS);
  const isKept = (budget.status?.observedGeneration ?? 0) >= (budget.metadata.generation ?? 1);
  const pods = isKept ? [] : ((await registry.store("pods").list(namespace)).items as readonly Wire<V1Pod>[]);
  const health = isKept ? keptHealth(budget) : countedHealth(budget, pods);
  if (health.allowed <= 0) throw budgetExhausted(budget, health);
}

interface Health {
  readonly allowed: number;
  readonly desired: number;
  readonly current: number;
}

function keptHealth({ status }: Budget): Health {
  return {
    allowed: status?.disruptionsAllowed ?? 0,
    desired: status?.desiredHealthy ?? 0,
    current: status?.currentHealthy ?? 0,
  };
}

/** Mirrors pkg/controller/disruption/disruption.go (getExpectedPodCount, countHealthyPods). */
function countedHealth({ spec }: Budget, pods: readonly Wire<V1Pod>[]): Health {
  const { selector, minAvailable, maxUnavailable } = spec ?? {};
  const own = pods.filter((pod) => matchesSelector(selector, pod.metadata.labels) && !hasEnded(pod.status));
  const expected = own.length;
  const desired = isSet(maxUnavailable)
    ? Math.max(0, expected - scaledValue(maxUnavailable, expected, true))
    : scaledValue(minAvailable, expected, true);
  const current = own.filter((pod) => pod.metadata.deletionTimestamp === undefined && isPodReady(pod)).length;
  return { allowed: expected === 0 ? 0 : Math.max(0, current - desired), desired, current };
}

function hasEnded(status: V1PodStatus | undefined): boolean {
  return isPodPhaseTerminal(status?.phase);
}

function budgetExhausted(budget: Budget, { desired, current }: Health): StatusError {
  const name = budget.metadata.name ?? "";
  const message = `The disruption budget ${name} needs ${desired} healthy pods and has ${current} currently`;
  return statusError(429, "TooManyRequests", REFUSED, { causes: [{ reason: "DisruptionBudget", message }] });
}
