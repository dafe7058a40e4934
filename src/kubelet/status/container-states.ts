import type { V1ContainerStatus, V1Pod, V1PodStatus } from "../../api/pod.js";
import { hasPodInitialized, initializedContainers } from "./merge.js";

/**
 * A pod's status with a final state for every container that was started. One whose end nobody has seen counts as failed.
 * Mirrors TerminatePod in pkg/kubelet/status/status_manager.go. Pure.
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

/** A status in which one container, found by its ID, is changed. Pure. */
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
