import {
  containersOf,
  findCondition,
  isRestartableInitContainer,
  sidecarsOf,
  type V1ContainerStatus,
  type V1PodCondition,
  type V1PodSpec,
  type V1PodStatus,
} from "../../staging/apimachinery/api/pod.js";
import { defined } from "../../util/defined.js";
import { hasAnyRegularContainerStarted, statusOf } from "./phase.js";

/**
 * The conditions that the kubelet derives from container statuses. Pure; the status manager sets the times.
 *
 * Mirrors pkg/kubelet/status/generate.go.
 */

/** Container statuses; null when the kubelet knows none, which differs from an empty list. */
type Statuses = readonly V1ContainerStatus[] | null | undefined;
type Phase = V1PodStatus["phase"];

/** Mirrors GenerateContainersReadyCondition. */
export function generateContainersReadyCondition(spec: V1PodSpec, statuses: Statuses, phase: Phase): V1PodCondition {
  const type = "ContainersReady";
  if (statuses === null || statuses === undefined) return isFalse(type, "UnknownContainerStatuses");
  const containers = [...sidecarsOf({ spec }), ...containersOf({ spec })];
  const unknown = containers.filter(({ name }) => statusOf(statuses, name) === undefined);
  const unready = containers.filter(({ name }) => (statusOf(statuses, name) ?? { ready: true }).ready !== true);
  if (phase === "Succeeded" && unknown.length === 0) return forTerminalPhase(type, phase);
  if (phase === "Failed") return forTerminalPhase(type, phase);
  const message = joined([
    ["containers with unknown status", unknown],
    ["containers with unready status", unready],
  ]);
  return message === "" ? isTrue(type) : isFalse(type, "ContainersNotReady", message);
}

/** Mirrors GeneratePodReadyCondition: all containers are ready, and all readiness gates are "True". */
export function generatePodReadyCondition(
  spec: V1PodSpec,
  conditions: V1PodStatus["conditions"],
  statuses: Statuses,
  phase: Phase,
): V1PodCondition {
  const type = "Ready";
  const containersReady = generateContainersReadyCondition(spec, statuses, phase);
  if (containersReady.status !== "True") return { ...containersReady, type };
  const messages = (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = findCondition(conditions, conditionType);
    const gate = `pod readiness gate ${JSON.stringify(conditionType)}`;
    if (condition === undefined) return [`corresponding condition of ${gate} does not exist.`];
    return condition.status === "True" ? [] : [`the status of ${gate} is not "True", but ${condition.status}`];
  });
  return messages.length === 0 ? isTrue(type) : isFalse(type, "ReadinessGatesNotReady", messages.join(", "));
}

/**
 * Mirrors GeneratePodInitializedCondition.
 * @param statuses of init containers, and (from 1.29 on, for pods with restartable ones) of all the others
 */
export function generatePodInitializedCondition(spec: V1PodSpec, statuses: Statuses, phase: Phase): V1PodCondition {
  const type = "Initialized";
  const containers = spec.initContainers ?? [];
  if ((statuses === null || statuses === undefined) && containers.length > 0) {
    return isFalse(type, "UnknownContainerStatuses");
  }
  const known = statuses ?? [];
  const unknown = containers.filter(({ name }) => statusOf(known, name) === undefined);
  const incomplete = containers.filter((container) => {
    const status = statusOf(known, container.name);
    if (status === undefined) return false;
    return isRestartableInitContainer(container) ? status.started !== true : status.ready !== true;
  });
  if (phase === "Succeeded" && unknown.length === 0) return isTrue(type, "PodCompleted");
  if (containers.some(isRestartableInitContainer) && hasAnyRegularContainerStarted(spec, known)) return isTrue(type);
  const message = joined([
    ["containers with unknown status", unknown],
    ["containers with incomplete status", incomplete],
  ]);
  return message === "" ? isTrue(type) : isFalse(type, "ContainersNotInitialized", message);
}

/** Ready and ContainersReady of a terminated pod. */
export function forTerminalPhase(type: "Ready" | "ContainersReady", phase: Phase): V1PodCondition {
  return isFalse(type, phase === "Failed" ? "PodFailed" : "PodCompleted");
}

/**
 * Reports whether readiness gates change the Ready condition: then the pod needs a sync without any other change.
 * Mirrors NeedToReconcilePodReadiness in pkg/kubelet/status/status_manager.go.
 */
export function needToReconcilePodReadiness(spec: V1PodSpec, status: V1PodStatus): boolean {
  if ((spec.readinessGates ?? []).length === 0) return false;
  const want = generatePodReadyCondition(spec, status.conditions, status.containerStatuses, status.phase);
  const have = findCondition(status.conditions, "Ready");
  return have !== undefined && (have.status !== want.status || (have.message ?? "") !== (want.message ?? ""));
}

/** Prints a list of names as Go does. */
function joined(parts: readonly (readonly [what: string, containers: readonly { readonly name: string }[]])[]): string {
  return parts
    .filter(([, containers]) => containers.length > 0)
    .map(([what, containers]) => `${what}: [${containers.map(({ name }) => name).join(" ")}]`)
    .join(", ");
}

function isTrue(type: string, reason?: string): V1PodCondition {
  return { type, status: "True", ...defined({ reason }) };
}

function isFalse(type: string, reason: string, message?: string): V1PodCondition {
  return { type, status: "False", reason, ...defined({ message }) };
}
