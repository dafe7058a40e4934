import type {
  V1ContainerStatus,
  V1PodFailurePolicy,
  V1PodFailurePolicyOnExitCodesRequirement,
} from "@kubernetes/client-node";
import { nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";

interface PolicyMatch {
  /** why the whole job fails */
  readonly failJob?: string;
  readonly isCounted: boolean;
}

const COUNTED: PolicyMatch = { isCounted: true };

/**
 * Applies the first matching rule to a failed pod; a pod that matches no rule counts as a failure.
 * Mirrors matchPodFailurePolicy in pkg/controller/job/pod_failure_policy.go.
 */
export function matchPodFailurePolicy(policy: Wire<V1PodFailurePolicy>, pod: PodObject): PolicyMatch {
  for (const [index, { action, onExitCodes, onPodConditions }] of policy.rules.entries()) {
    const subject = onExitCodes ? exitOf(pod, onExitCodes) : conditionOf(pod, onPodConditions ?? []);
    if (subject === undefined) continue;
    if (action === "Ignore") return { isCounted: false };
    if (action === "Count") return COUNTED;
    if (action === "FailJob") {
      return { failJob: `${subject} matching ${action} rule at index ${index}`, isCounted: true };
    }
  }
  return COUNTED;
}

function podText({ metadata, ...pod }: PodObject): string {
  return `${metadata.namespace}/${nameOf({ metadata, ...pod })}`;
}

function conditionOf(
  pod: PodObject,
  patterns: readonly { readonly type: string; readonly status: string }[],
): string | undefined {
  const conditions = pod.status?.conditions ?? [];
  const match = conditions.find((one) =>
    patterns.some(({ type, status }) => type === one.type && status === one.status),
  );
  return match === undefined ? undefined : `Pod ${podText(pod)} has condition ${match.type}`;
}

/** Mirrors matchOnExitCodes: only failures count, those of the containers first. */
function exitOf(pod: PodObject, requirement: Wire<V1PodFailurePolicyOnExitCodesRequirement>): string | undefined {
  const { containerStatuses, initContainerStatuses } = pod.status ?? {};
  const statuses = [...(containerStatuses ?? []), ...(initContainerStatuses ?? [])];
  const match = statuses.find((status) => matchesExit(status, requirement));
  const exitCode = match?.state?.terminated?.exitCode;
  return match === undefined
    ? undefined
    : `Container ${match.name} for pod ${podText(pod)} failed with exit code ${exitCode}`;
}

function matchesExit(
  { name, state }: Wire<V1ContainerStatus>,
  { containerName, operator, values }: Wire<V1PodFailurePolicyOnExitCodesRequirement>,
): boolean {
  const exitCode = state?.terminated?.exitCode ?? 0;
  if (exitCode === 0 || (typeof containerName === "string" && containerName !== name)) return false;
  const isListed = (values ?? []).includes(exitCode);
  return operator === "In" ? isListed : operator === "NotIn" && !isListed;
}
