import {
  isPodPhaseTerminal,
  replaceOrAppend,
  type V1ContainerStatus,
  type V1Pod,
  type V1PodStatus,
} from "../../staging/apimachinery/api/pod.js";
import { isStaticPod } from "../types/pod-update.js";
import { generateContainersReadyCondition, generatePodReadyCondition } from "./generate.js";
import { hasPodInitialized, initializedContainers } from "./merge.js";

/**
 * A pod's status with a final state for every container that was started. A container whose end was not observed counts
 * as failed. Mirrors TerminatePod in pkg/kubelet/status/status_manager.go. Pure.
 */
export function withAllTerminated(pod: V1Pod, old: V1PodStatus): V1PodStatus {
  const { containerStatuses, initContainerStatuses } = old;
  const tried = initializedContainers(initContainerStatuses ?? []).length;
  return {
    ...old,
    ...(hasPodInitialized(pod) ? { containerStatuses: (containerStatuses ?? []).map(asTerminated) } : {}),
    initContainerStatuses: (initContainerStatuses ?? []).map((one, i) => (i < tried ? asTerminated(one) : one)),
  };
}

function asTerminated(status: V1ContainerStatus): V1ContainerStatus {
  if (status.state?.terminated !== undefined && status.state.terminated !== null) return status;
  const message = "The container could not be located when the pod was terminated";
  return { ...status, state: { terminated: { reason: "ContainerStatusUnknown", message, exitCode: 137 } } };
}

/**
 * A status with a final phase: a pod that did not end by itself has failed. A static pod keeps its phase, because it
 * may start again. Mirrors TerminatePod of v1.27 and later. Pure.
 */
export function withFinalPhase(pod: V1Pod, status: V1PodStatus): V1PodStatus {
  return isStaticPod(pod) || isPodPhaseTerminal(status.phase) ? status : { ...status, phase: "Failed" };
}

/** A status with one container, found by its ID, changed. Pure. */
export function withContainer(
  status: V1PodStatus,
  containerId: string,
  change: Partial<V1ContainerStatus>,
): V1PodStatus {
  const changed = (statuses: V1PodStatus["containerStatuses"]) => {
    const i = statuses?.findIndex(({ containerID }) => containerID === containerId) ?? -1;
    const one = statuses?.[i];
    return statuses === undefined || statuses === null || one === undefined
      ? undefined
      : statuses.with(i, { ...one, ...change });
  };
  const containerStatuses = changed(status.containerStatuses);
  if (containerStatuses !== undefined) return { ...status, containerStatuses };
  const initContainerStatuses = changed(status.initContainerStatuses);
  return initContainerStatuses === undefined ? status : { ...status, initContainerStatuses };
}

/** A pod's status with a container's readiness, and the conditions that follow. Mirrors SetContainerReadiness. Pure. */
export function withReadiness(pod: V1Pod, old: V1PodStatus, containerId: string, ready: boolean): V1PodStatus {
  const status = withContainer(old, containerId, { ready });
  const { phase, containerStatuses, initContainerStatuses } = status;
  // Sidecars (since v1.29) must be ready as well.
  const all = [...(initContainerStatuses ?? []), ...(containerStatuses ?? [])];
  const podReady = generatePodReadyCondition(pod.spec, status.conditions, all, phase);
  const containersReady = generateContainersReadyCondition(pod.spec, all, phase);
  return {
    ...status,
    conditions: replaceOrAppend(replaceOrAppend(status.conditions ?? [], podReady), containersReady),
  };
}
