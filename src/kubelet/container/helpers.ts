import type { V1Container, V1Pod } from "../../apimachinery/api/pod.js";
import type { EnvVar } from "../kuberuntime/runtime-helper.js";
import { expand } from "./expansion.js";
import type { ContainerStatus, Pod, PodStatus } from "./runtime.js";
import type { ContainerSpec } from "./spec.js";

/** The newest status of this name: statuses are sorted by age. Mirrors FindContainerStatusByName. */
export function findContainerStatusByName({ containerStatuses }: PodStatus, name: string): ContainerStatus | undefined {
  return containerStatuses.find((status) => status.name === name);
}

/** Mirrors ShouldContainerBeRestarted in pkg/kubelet/container/helpers.go. Pure. */
export function shouldContainerBeRestarted(container: V1Container, pod: V1Pod, podStatus: PodStatus): boolean {
  // Once the pod's deletion was requested, nothing in it is restarted.
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  const status = findContainerStatusByName(podStatus, container.name);
  if (status === undefined) return true;
  if (status.state === "running") return false;
  if (status.state === "unknown" || status.state === "created") return true;
  if (pod.spec.restartPolicy === "Never") return false;
  return pod.spec.restartPolicy !== "OnFailure" || status.exitCode !== 0;
}

/** Command and arguments with $(NAME) replaced from the container's environment. */
export function expandContainerCommandAndArgs(
  container: ContainerSpec,
  envs: readonly EnvVar[],
): { readonly command: readonly string[]; readonly args: readonly string[] } {
  const values = new Map(envs.map(({ name, value }) => [name, value]));
  const expandAll = (texts: readonly string[] | null | undefined) =>
    (texts ?? []).map((text) => expand(text, (name) => values.get(name)));
  return { command: expandAll(container.command), args: expandAll(container.args) };
}

/** What runs or may run of a pod: running containers, all sandboxes. Mirrors ConvertPodStatusToRunningPod. */
export function convertPodStatusToRunningPod(podStatus: PodStatus): Pod {
  const { podUid, name, namespace } = podStatus;
  return {
    podUid,
    name,
    namespace,
    createdAtMs: podStatus.sandboxStatuses[0]?.createdAtMs ?? 0,
    containers: podStatus.containerStatuses
      .filter(({ state }) => state === "running")
      .map(({ containerId, name, state }) => ({ containerId, name, state })),
    sandboxes: podStatus.sandboxStatuses.map(({ sandboxId, state }) => ({
      containerId: sandboxId,
      state: state === "ready" ? "running" : "exited",
    })),
  };
}
