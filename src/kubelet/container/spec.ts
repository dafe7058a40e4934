import type { V1EphemeralContainer, V1LifecycleHandler } from "@kubernetes/client-node";
import type { V1Container, V1Pod } from "../../apimachinery/api/pod.js";
import type { Wire } from "../../apimachinery/wire.js";

export type EphemeralContainerSpec = Wire<V1EphemeralContainer>;
/** A container of any kind: regular, init or ephemeral. */
export type ContainerSpec = V1Container | EphemeralContainerSpec;
export type LifecycleHandler = Wire<V1LifecycleHandler>;

export function containersOf({ spec }: V1Pod): readonly V1Container[] {
  return spec.containers ?? [];
}

export function initContainersOf({ spec }: V1Pod): readonly V1Container[] {
  return spec.initContainers ?? [];
}

export function ephemeralContainersOf({ spec }: V1Pod): readonly EphemeralContainerSpec[] {
  return spec.ephemeralContainers ?? [];
}

/** Containers of all kinds: init, regular, ephemeral. */
export function allContainersOf(pod: V1Pod): readonly ContainerSpec[] {
  return [...initContainersOf(pod), ...containersOf(pod), ...ephemeralContainersOf(pod)];
}

/** Reports whether an init container is a sidecar. Mirrors IsRestartableInitContainer in pkg/api/v1/pod/util.go. */
export function isRestartableInitContainer({ restartPolicy }: ContainerSpec): boolean {
  return restartPolicy === "Always";
}

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
