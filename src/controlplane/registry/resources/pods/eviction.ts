import type { KubeObject } from "../../../../apimachinery/api/meta.js";
import { badRequest, internalError, type StatusError, statusError } from "../../../../apimachinery/errors.js";
import { isSet } from "../../../../util/records.js";
import type { SpecialHandler, SpecialRequest } from "../../../apiserver/special.js";
import type { DeleteOptions } from "../../registry.js";
import { type Fields, fields, items, number, text } from "../access.js";
import { matchesSelector } from "../selector.js";
import { CREATED } from "./binding.js";

const REFUSED = "Cannot evict pod as it would violate the pod's disruption budget.";
const SEVERAL_BUDGETS =
  "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";

/**
 * Deletes a pod, unless that violates its disruption budget.
 *
 * Mirrors pkg/registry/core/pod/storage/eviction.go (EvictionREST.Create). Differs: there is no disruption controller,
 * so the status of a budget is computed here, on demand.
 */
export const evictPod: SpecialHandler = async (request) => {
  const { context, registry, namespace, name = "", body } = request;
  if (body !== undefined && (body.metadata.name ?? "") !== name) {
    throw badRequest("name in URL does not match name in Eviction object");
  }
  const dryRun = isDryRun(request);
  const pod = await registry.store("pods").get(namespace, name);
  if (!canIgnoreBudgets(pod)) await requireBudget(request, pod);
  await registry.store("pods").delete({ ...context, dryRun }, namespace, name, deleteOptions(body));
  return CREATED;
};

/** Both the query and the body can request a dry run: `kubectl drain` uses the body. Mirrors propagateDryRun. */
function isDryRun({ context, body, query }: SpecialRequest): boolean {
  const inBody = items(fields(body?.deleteOptions).dryRun).map(text);
  const inQuery = query.getAll("dryRun");
  if (inBody.length > 0 && inQuery.length > 0 && inBody.join() !== inQuery.join()) {
    const both = `[${inQuery.join(" ")}] and [${inBody.join(" ")}]`;
    throw internalError(`Non-matching dry-run options in request and content: ${both}`);
  }
  return context.dryRun === true || inBody.length > 0;
}

function deleteOptions(eviction: KubeObject | undefined): DeleteOptions {
  const options = fields(eviction?.deleteOptions);
  const seconds = number(options.gracePeriodSeconds);
  const { uid, resourceVersion } = fields(options.preconditions);
  const policy = text(options.propagationPolicy);
  return {
    ...(seconds === undefined ? {} : { gracePeriodSeconds: seconds }),
    ...(policy === "" ? {} : { propagationPolicy: policy }),
    ...(isSet(options.preconditions)
      ? {
          preconditions: {
            ...(isSet(uid) ? { uid: text(uid) } : {}),
            ...(isSet(resourceVersion) ? { resourceVersion: text(resourceVersion) } : {}),
          },
        }
      : {}),
  };
}

/** A pod that does not run does not count for a budget. */
function canIgnoreBudgets(pod: KubeObject): boolean {
  const phase = text(fields(pod.status).phase);
  return (
    phase === "Succeeded" || phase === "Failed" || phase === "Pending" || pod.metadata.deletionTimestamp !== undefined
  );
}

/** @throws StatusError 429 if the budget does not allow it */
async function requireBudget({ registry, namespace }: SpecialRequest, pod: KubeObject): Promise<void> {
  const budgets = await registry.store("poddisruptionbudgets.policy").list(namespace);
  const [budget, another] = budgets.items.filter((one) =>
    matchesSelector(fields(one.spec).selector, pod.metadata.labels),
  );
  if (budget === undefined) return;
  if (another !== undefined) throw internalError(SEVERAL_BUDGETS);
  const isKept = (number(fields(budget.status).observedGeneration) ?? 0) >= (budget.metadata.generation ?? 1);
  const pods = isKept ? [] : (await registry.store("pods").list(namespace)).items;
  const health = isKept ? keptHealth(fields(budget.status)) : countedHealth(budget, pods);
  if (health.allowed <= 0) throw budgetExhausted(budget, health);
}

interface Health {
  readonly allowed: number;
  readonly desired: number;
  readonly current: number;
}

function keptHealth(status: Fields): Health {
  return {
    allowed: number(status.disruptionsAllowed) ?? 0,
    desired: number(status.desiredHealthy) ?? 0,
    current: number(status.currentHealthy) ?? 0,
  };
}

/** Mirrors pkg/controller/disruption/disruption.go (getExpectedPodCount, countHealthyPods). */
function countedHealth(budget: KubeObject, pods: readonly KubeObject[]): Health {
  const { selector, minAvailable, maxUnavailable } = fields(budget.spec);
  const own = pods.filter((pod) => matchesSelector(selector, pod.metadata.labels) && !hasEnded(pod));
  const expected = own.length;
  const desired = isSet(maxUnavailable)
    ? Math.max(0, expected - scaled(maxUnavailable, expected))
    : scaled(minAvailable, expected);
  const current = own.filter((pod) => pod.metadata.deletionTimestamp === undefined && isReady(pod)).length;
  return { allowed: expected === 0 ? 0 : Math.max(0, current - desired), desired, current };
}

function hasEnded(pod: KubeObject): boolean {
  const { phase } = fields(pod.status);
  return phase === "Succeeded" || phase === "Failed";
}

function isReady(pod: KubeObject): boolean {
  return items(fields(pod.status).conditions)
    .map(fields)
    .some((one) => one.type === "Ready" && one.status === "True");
}

/** A number, or a percentage rounded up. Mirrors GetScaledValueFromIntOrPercent. */
function scaled(value: unknown, total: number): number {
  if (typeof value === "number") return value;
  return Math.ceil((Number.parseInt(text(value), 10) * total) / 100) || 0;
}

function budgetExhausted(budget: KubeObject, { desired, current }: Health): StatusError {
  const name = budget.metadata.name ?? "";
  const message = `The disruption budget ${name} needs ${desired} healthy pods and has ${current} currently`;
  return statusError(429, "TooManyRequests", REFUSED, { causes: [{ reason: "DisruptionBudget", message }] });
}
