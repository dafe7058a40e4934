import type { V1Pod } from "@kubernetes/client-node";
import { isPodReady } from "../../../../../staging/apimachinery/api/pod.js";
import { forbidden, internalError, type StatusError, statusError } from "../../../../../staging/apimachinery/errors.js";
import {
  type PodDisruptionBudget,
  withDisruptionAllowed,
} from "../../../../../staging/apimachinery/policyv1/pod-disruption-budget.js";
import { matchesSelector } from "../../../../../staging/apimachinery/selector.js";
import { rfc3339 } from "../../../../../staging/apimachinery/time.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { factFor } from "../../../../../util/release/facts.js";
import type { ActionRequest } from "../../rest/action.js";
import type { Registry } from "../../rest/registry.js";

/** What an eviction asks of a disruption budget. Mirrors pkg/registry/core/pod/storage/eviction.go. */

export type Pod = Wire<V1Pod>;

const BUDGETS = "poddisruptionbudgets.policy";
/** Evictions that the disruption controller has not seen yet. Mirrors MaxDisruptedPodSize. */
const MAX_DISRUPTED_PODS = 2_000;
const REFUSED = "Cannot evict pod as it would violate the pod's disruption budget.";
const SEVERAL_BUDGETS =
  "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";

/** Upstream the storage of pods writes budgets with the API server's loopback client. */
export const API_SERVER = { username: "system:apiserver", groups: ["system:masters"] };

/** Mirrors getPodDisruptionBudgets. @returns undefined if the pod has none @throws StatusError 500 if it has several */
export async function budgetOf(registry: Registry, { metadata }: Pod): Promise<PodDisruptionBudget | undefined> {
  const { items } = await registry.store(BUDGETS).list(metadata.namespace);
  const matches = ({ spec }: PodDisruptionBudget) => matchesSelector(spec?.selector, metadata.labels);
  const [budget, another] = (items as readonly PodDisruptionBudget[]).filter(matches);
  if (another !== undefined) throw internalError(SEVERAL_BUDGETS);
  return budget;
}

/** Reports whether the pod is not ready and can go without loss: it does not count as healthy. */
export function isUnguarded(pod: Pod, { spec, status }: PodDisruptionBudget, kubeVersion: string): boolean {
  if (isPodReady(pod)) return false;
  const isAlwaysAllowed = spec?.unhealthyPodEvictionPolicy === "AlwaysAllow";
  if (isAlwaysAllowed && factFor("pdbUnhealthyPodEvictionPolicy", kubeVersion)) return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return desiredHealthy > 0 && currentHealthy >= desiredHealthy;
}

/**
 * Takes one disruption from the budget, and notes the pod in it, unless it is a dry run.
 * @returns why the pod can be evicted
 * @throws StatusError 429 if the budget allows no disruption, 409 if the budget has changed meanwhile
 */
export async function checkAndDecrement(
  { registry, context, namespace }: ActionRequest,
  pod: Pod,
  budgetName: string,
  nowMs: number,
): Promise<string> {
  const store = registry.store(BUDGETS);
  const budget = (await store.get(namespace, budgetName)) as PodDisruptionBudget;
  const { status, metadata } = budget;
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) throw stillProcessed(budget);
  const { disruptionsAllowed = 0, desiredHealthy = 0, currentHealthy = 0, disruptedPods } = status ?? {};
  const resource = { group: "policy", resource: "poddisruptionbudget" };
  if (disruptionsAllowed < 0) throw forbidden(resource, budgetName, "pdb disruptions allowed is negative");
  if (Object.keys(disruptedPods ?? {}).length > MAX_DISRUPTED_PODS) {
    const why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
    throw forbidden(resource, budgetName, why);
  }
  const numbers = `needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  if (disruptionsAllowed === 0) throw refused(`The disruption budget ${budgetName} ${numbers}`);
  if (context.dryRun !== true && status !== undefined) {
    const left = { ...status, disruptionsAllowed: disruptionsAllowed - 1 };
    const next = {
      ...(left.disruptionsAllowed === 0 ? withDisruptionAllowed(left, nowMs) : left),
      disruptedPods: { ...disruptedPods, [pod.metadata.name ?? ""]: rfc3339(nowMs) },
    };
    const write = { ...context, user: API_SERVER };
    await store.update(write, namespace, budgetName, "status", () => ({ ...budget, status: next }));
  }
  return `disruption budget ${budgetName} allows ${disruptionsAllowed} disruptions: it ${numbers}`;
}

/** The disruption controller has not counted the budget's pods since its last change. Mirrors createTooManyRequestsError. */
export function stillProcessed({ metadata }: PodDisruptionBudget): StatusError {
  return refused(`The disruption budget ${metadata.name} is still being processed by the server.`, 10);
}

function refused(message: string, retryAfterSeconds?: number): StatusError {
  const causes = [{ reason: "DisruptionBudget", message }];
  return statusError(429, "TooManyRequests", REFUSED, {
    causes,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}
