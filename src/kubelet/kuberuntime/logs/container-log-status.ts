import type { V1ContainerStatus, V1PodStatus } from "../../../staging/apimachinery/api/pod.js";
import { LogError } from "./options.js";

/**
 * Chooses the container whose log is read: the running one or the last terminated one; with `previous` the one before.
 * Pure.
 *
 * Mirrors pkg/kubelet/kubelet_pods.go (validateContainerLogStatus).
 * @returns the container's ID as the status has it: `containerd://4f0c…`
 * @throws LogError in the kubelet's words: what `kubectl logs` prints
 */
export function validateContainerLogStatus(
  podName: string,
  status: V1PodStatus,
  containerName: string,
  previous: boolean,
): string {
  const what = `container ${JSON.stringify(containerName)} in pod ${JSON.stringify(podName)}`;
  const container = findStatus(status, containerName);
  if (container === undefined) throw new LogError(`${what} is not available`);
  const { waiting, running, terminated } = container.state ?? {};
  const last = container.lastState?.terminated;
  if (previous) {
    if (!last?.containerID) throw new LogError(`previous terminated ${what} not found`);
    return last.containerID;
  }
  if (running) return container.containerID ?? "";
  if (terminated || last) {
    // A container that was never created has no ID, but the one before it may have a log.
    const containerId = terminated?.containerID || last?.containerID;
    if (!containerId) throw new LogError(`${what} is terminated`);
    return containerId;
  }
  if (!waiting) throw new LogError(`${what} is waiting to start - no logs yet`);
  throw new LogError(`${what} is waiting to start: ${WAITING[waiting.reason ?? ""] ?? waiting.reason ?? ""}`);
}

/** Waiting reasons that upstream rewords. */
const WAITING: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: "trying and failing to pull image",
};

function findStatus(status: V1PodStatus, name: string): V1ContainerStatus | undefined {
  return [status.containerStatuses, status.initContainerStatuses, status.ephemeralContainerStatuses]
    .flatMap((statuses) => statuses ?? [])
    .find((one) => one.name === name);
}
