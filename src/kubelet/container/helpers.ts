import type { V1LifecycleHandler } from "@kubernetes/client-node";
import {
  allContainersOf,
  type ContainerSpec,
  containersOf,
  ephemeralContainersOf,
  initContainersOf,
  type V1Container,
  type V1Pod,
} from "../../staging/apimachinery/api/pod.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { expand } from "./expansion.js";
import type { ContainerStatus, Pod, PodStatus } from "./runtime.js";
import type { EnvVar } from "./runtime-helper.js";

export type LifecycleHandler = Wire<V1LifecycleHandler>;

/** Finds a container of any kind. Mirrors GetContainerSpec in pkg/kubelet/container/helpers.go. */
export function getContainerSpec(pod: V1Pod, name: string): ContainerSpec | undefined {
  return allContainersOf(pod).find((container) => container.name === name);
}

/** The field that an event is about: `spec.containers{app}`. Mirrors fieldPath in pkg/kubelet/container/ref.go. */
export function containerFieldPath(pod: V1Pod, { name }: ContainerSpec): string {
  const has = (list: readonly ContainerSpec[]) => list.some((container) => container.name === name);
  if (has(containersOf(pod))) return `spec.containers{${name}}`;
  if (has(initContainersOf(pod))) return `spec.initContainers{${name}}`;
  return has(ephemeralContainersOf(pod)) ? `spec.ephemeralContainers{${name}}` : "";
}

/** `name_namespace(uid)`. Mirrors format.Pod in pkg/kubelet/util/format/pod.go. */
export function formatPod({ metadata }: V1Pod): string {
  return `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
}

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

/** A pod as the runtime's lists would show it, from its status. */
export function podFromStatus({ podUid, name, namespace, containerStatuses, sandboxStatuses }: PodStatus): Pod {
  return {
    podUid,
    name,
    namespace,
    createdAtMs: sandboxStatuses[0]?.createdAtMs ?? 0,
    containers: containerStatuses.map(({ containerId, name, state }) => ({ containerId, name, state })),
    sandboxes: sandboxStatuses.map(({ sandboxId, state }) => ({
      containerId: sandboxId,
      state: state === "ready" ? "running" : "exited",
    })),
  };
}

/** What runs or may run of a pod: running containers, all sandboxes. Mirrors ConvertPodStatusToRunningPod. */
export function convertPodStatusToRunningPod(podStatus: PodStatus): Pod {
  const pod = podFromStatus(podStatus);
  return { ...pod, containers: pod.containers.filter(({ state }) => state === "running") };
}
