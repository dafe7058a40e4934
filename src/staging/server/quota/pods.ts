import type { V1Affinity, V1Pod, V1PodAffinityTerm } from "@kubernetes/client-node";
import { isSet } from "../../../util/records.js";
import type { V1Container } from "../../apimachinery/api/pod.js";
import { resourcesOf } from "../../apimachinery/corev1/container-resources.js";
import { getPodQos } from "../../apimachinery/corev1/qos.js";
import {
  isExtendedResource,
  isHugePageResource,
  isNativeResource,
  isQuotaHugePageResource,
  REQUESTS,
} from "../../apimachinery/corev1/resource-names.js";
import { matchesSelector } from "../../apimachinery/selector.js";
import type { Wire } from "../../apimachinery/wire.js";
import { countName, type Evaluator, intersection, type ScopeRequirement } from "./evaluator.js";
import { type Amounts, addAmounts, maxOf } from "./resources.js";

type Pod = Wire<V1Pod>;

const COUNT = countName("pods");
const COMPUTE = ["cpu", "memory", "ephemeral-storage"] as const;
const NAMES = [COUNT, "pods", ...COMPUTE.flatMap((name) => [name, `requests.${name}`, `limits.${name}`])];

/** If a quota limits one of these, each container must specify it. */
const REQUIRED = ["cpu", "memory"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]);

/**
 * Measures pods: their number, requests and limits.
 * Mirrors pkg/quota/v1/evaluator/core/pods.go (podEvaluator). Differs: sidecars count as other init containers do, also in later releases.
 */
export function podEvaluator(clock: { now(): number }): Evaluator {
  return {
    resource: "pods",
    handles: (operation) => operation === "CREATE",
    matchingResources: (input) => [
      ...intersection(input, NAMES),
      ...input.filter((name) => isQuotaHugePageResource(name) || isExtendedInQuota(name)),
    ],
    matchesScope: isInScope,
    missing: missingResources,
    usage: (pod) => podUsage(pod, clock.now()),
  };
}

/** Extended resources cannot be overcommitted, so a quota limits only their requests. Mirrors isExtendedResourceNameForQuota. */
function isExtendedInQuota(name: string): boolean {
  return !isNativeResource(name) && name.startsWith(REQUESTS);
}

/** Mirrors podMatchesScopeFunc. */
function isInScope({ scopeName, operator, values = [] }: ScopeRequirement, pod: Pod): boolean {
  const { activeDeadlineSeconds, priorityClassName = "", affinity } = pod.spec ?? {};
  const isTerminating = isSet(activeDeadlineSeconds) && activeDeadlineSeconds >= 0;
  switch (scopeName) {
    case "Terminating":
      return isTerminating;
    case "NotTerminating":
      return !isTerminating;
    case "BestEffort":
      return getPodQos(pod.spec ?? {}) === "BestEffort";
    case "NotBestEffort":
      return getPodQos(pod.spec ?? {}) !== "BestEffort";
    case "PriorityClass": {
      const labels: Record<string, string> = priorityClassName === "" ? {} : { [scopeName]: priorityClassName };
      return matchesSelector({ matchExpressions: [{ key: scopeName, operator, values }] }, labels);
    }
    case "CrossNamespacePodAffinity":
      return usesCrossNamespacePodAffinity(affinity);
    default:
      return false;
  }
}

function usesCrossNamespacePodAffinity(affinity: Wire<V1Affinity> | undefined): boolean {
  const isCross = ({ namespaces, namespaceSelector }: Wire<V1PodAffinityTerm>) =>
    (namespaces ?? []).length > 0 || isSet(namespaceSelector);
  return [affinity?.podAffinity, affinity?.podAntiAffinity].some(
    (terms) =>
      (terms?.requiredDuringSchedulingIgnoredDuringExecution ?? []).some(isCross) ||
      (terms?.preferredDuringSchedulingIgnoredDuringExecution ?? []).some((one) => isCross(one.podAffinityTerm)),
  );
}

/** `must specify cpu for: a,b; limits.memory for: a`. Mirrors Constraints and enforcePodContainerConstraints. */
function missingResources(limited: readonly string[], { spec }: Pod): string | undefined {
  const containers: readonly V1Container[] = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const missing = intersection(limited, REQUIRED).flatMap((name) => {
    const without = containers.filter((container) => !(name in computeUsage(amountsOf(container))));
    return without.length === 0 ? [] : [`${name} for: ${namesOf(without).join(",")}`];
  });
  return missing.length === 0 ? undefined : `must specify ${missing.join("; ")}`;
}

function namesOf(containers: readonly V1Container[]): readonly string[] {
  return [...new Set(containers.map(({ name }) => name))].sort();
}

interface RequestsAndLimits {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

function amountsOf(container: V1Container): RequestsAndLimits {
  // Only quantities are stored.
  return resourcesOf(container) as RequestsAndLimits;
}

/** The requests and limits under their names in a quota. Mirrors podComputeUsageHelper. */
function computeUsage({ requests, limits }: RequestsAndLimits): Record<string, string> {
  const usage: Record<string, string> = { pods: "1" };
  for (const [name, amount] of Object.entries(requests)) {
    const isCompute = COMPUTE.some((one) => one === name);
    if (isCompute || isHugePageResource(name)) usage[name] = amount;
    if (isCompute || isHugePageResource(name) || isExtendedResource(name)) usage[REQUESTS + name] = amount;
  }
  for (const name of COMPUTE) if (limits[name] !== undefined) usage[`limits.${name}`] = limits[name];
  return usage;
}

/** Mirrors PodUsageFunc: all pods count as objects, and those that can still run as pods. */
function podUsage(pod: Pod, nowMs: number): Amounts {
  if (!isCharged(pod, nowMs)) return { [COUNT]: "1" };
  const { containers = [], initContainers, overhead = {} } = pod.spec ?? {};
  const total = (list: keyof RequestsAndLimits): Amounts => {
    const sum = containers.map((one) => amountsOf(one)[list]).reduce(addAmounts, {});
    // Init containers run one after the other, before the others.
    const most = (initContainers ?? []).map((one) => amountsOf(one)[list]).reduce(maxOf, sum);
    return addAmounts(most, overhead);
  };
  return { [COUNT]: "1", ...computeUsage({ requests: total("requests"), limits: total("limits") }) };
}

/**
 * Reports whether a quota counts the pod: it has not ended, and its time to end is not over (its node may be lost). Mirrors QuotaV1Pod.
 */
export function isCharged({ metadata, status }: Pod, nowMs: number): boolean {
  if (status?.phase === "Failed" || status?.phase === "Succeeded") return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (!isSet(deletionTimestamp) || !isSet(deletionGracePeriodSeconds)) return true;
  return nowMs <= Date.parse(String(deletionTimestamp)) + deletionGracePeriodSeconds * 1000;
}
