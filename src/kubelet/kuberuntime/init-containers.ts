import {
  type ContainerSpec,
  containersOf,
  initContainersOf,
  isRestartableInitContainer,
  type V1Pod,
} from "../../staging/apimachinery/api/pod.js";
import { hashContainer } from "../container/hash.js";
import { findContainerStatusByName } from "../container/helpers.js";
import type { ContainerStatus, PodStatus } from "../container/runtime.js";
import type { ContainerToKill, PodActions, PodActionsDeps } from "./pod-actions.js";

/** Mirrors isInitContainerFailed in pkg/kubelet/kuberuntime/helpers.go. */
function isInitContainerFailed({ state, exitCode }: ContainerStatus): boolean {
  return state === "unknown" || (state === "exited" && exitCode !== 0);
}

/** The state of a pod's initialization. */
export interface InitProgress {
  /** the init container that failed last: it is `next` again */
  readonly failed?: ContainerStatus;
  /** index of the init container to start; undefined: nothing to start now */
  readonly next?: number;
  readonly isDone: boolean;
}

/**
 * Finds the next init container to start. Checks the last one first, because earlier ones may have been collected.
 * Mirrors findNextInitContainerToRun in pkg/kubelet/kuberuntime/kuberuntime_container.go. Pure.
 */
export function findNextInitContainer(pod: V1Pod, podStatus: PodStatus): InitProgress {
  const inits = initContainersOf(pod);
  if (inits.length === 0) return { isDone: true };
  // A running container implies that all init containers completed, even if they are gone.
  if (containersOf(pod).some(({ name }) => findContainerStatusByName(podStatus, name)?.state === "running")) {
    return { isDone: true };
  }
  const statuses = inits.map(({ name }) => findContainerStatusByName(podStatus, name));
  const failedIndex = statuses.findLastIndex((status) => status !== undefined && isInitContainerFailed(status));
  const failed = statuses[failedIndex];
  if (failed !== undefined) return { failed, next: failedIndex, isDone: false };
  const last = statuses.findLastIndex((status) => status?.state === "running" || status?.state === "exited");
  if (statuses[last]?.state === "running") return { isDone: false };
  return last === inits.length - 1 ? { isDone: true } : { next: last + 1, isDone: false };
}

/** Mirrors hasAnyRegularContainerCreated. */
export function hasAnyContainerCreated(pod: V1Pod, podStatus: PodStatus): boolean {
  return containersOf(pod).some(({ name }) => {
    const state = findContainerStatusByName(podStatus, name)?.state;
    return state === "created" || state === "running" || state === "exited";
  });
}

/** The state of an init container, as computeInitContainerActions needs it. */
type Finding =
  /** nothing to do but wait */
  | { readonly kind: "wait" }
  /** it completed, or runs as a sidecar: the next one may start */
  | { readonly kind: "initialized"; readonly startsNext: boolean; readonly restart?: ContainerToKill }
  | { readonly kind: "restart"; readonly kill?: ContainerToKill }
  /** it failed and must not be restarted: the pod has failed */
  | { readonly kind: "fatal" };

/**
 * Goes through the init containers from the last to the first: finds the next one to start, and the sidecars to
 * restart.
 *
 * Mirrors computeInitContainerActions in pkg/kubelet/kuberuntime/kuberuntime_container.go of v1.29 and later.
 * @returns true: the pod has been initialized
 */
export function computeInitContainerActions(
  pod: V1Pod,
  podStatus: PodStatus,
  actions: PodActions,
  deps: PodActionsDeps,
): boolean {
  const inits = initContainersOf(pod);
  let isPodInitialized = containersOf(pod).some(({ name }) => {
    const state = findContainerStatusByName(podStatus, name)?.state;
    return state === "created" || state === "running";
  });
  let isPreviouslyInitialized = isPodInitialized;
  const toStart: number[] = [];
  for (let i = inits.length - 1; i >= 0; i--) {
    const container = inits[i];
    if (container === undefined) continue;
    const isSidecar = isRestartableInitContainer(container);
    const status = findContainerStatusByName(podStatus, container.name);
    if (status === undefined) {
      // Its last status is gone, but it should run.
      if (isPreviouslyInitialized && isSidecar) toStart.push(i);
      continue;
    }
    // After the initialization only sidecars matter.
    if (isPreviouslyInitialized && !isSidecar) continue;
    const finding = isSidecar ? inspectSidecar(container, status, deps) : inspectInit(pod, container, status);
    if (finding.kind === "fatal") {
      actions.killPod = true;
      actions.initContainersToStart = [];
      return false;
    }
    if (finding.kind === "initialized") {
      if (i === inits.length - 1) isPodInitialized = true;
      else if (finding.startsNext && !isPreviouslyInitialized) toStart.push(i + 1);
    }
    const kill =
      finding.kind === "restart" ? finding.kill : finding.kind === "initialized" ? finding.restart : undefined;
    if (kill !== undefined) actions.containersToKill.push(kill);
    if (kill !== undefined || finding.kind === "restart") toStart.push(i);
    isPreviouslyInitialized = true;
  }
  if (!isPreviouslyInitialized) toStart.push(0);
  actions.initContainersToStart = toStart.reverse();
  return isPodInitialized;
}

function inspectInit(pod: V1Pod, container: ContainerSpec, status: ContainerStatus): Finding {
  switch (status.state) {
    case "created":
      // Creating and starting are one step, so the runtime failed to start it.
      return { kind: "restart" };
    case "running":
      return { kind: "wait" };
    case "exited":
      if (!isInitContainerFailed(status)) return { kind: "initialized", startsNext: true };
      return pod.spec.restartPolicy === "Never" ? { kind: "fatal" } : { kind: "restart" };
    case "unknown":
      return pod.spec.restartPolicy === "Never" ? { kind: "fatal" } : unknownState(container, status);
  }
}

function inspectSidecar(container: ContainerSpec, status: ContainerStatus, deps: PodActionsDeps): Finding {
  const { name } = container;
  const kill = (message: string, reason: ContainerToKill["reason"]): ContainerToKill => ({
    containerId: status.containerId,
    name,
    message: `Init container ${name} ${message}`,
    reason,
  });
  if (status.state === "unknown") return unknownState(container, status);
  if (status.state !== "running") return { kind: "restart" };
  if (isProbed(container.startupProbe)) {
    const startup = deps.startupManager.get(status.containerId);
    if (startup === "failure") return { kind: "restart", kill: kill("failed startup probe", "StartupProbe") };
    if (startup !== "success") return { kind: "wait" };
  }
  if (hashContainer(container, deps.kubeVersion) !== status.hash) {
    return { kind: "initialized", startsNext: true, restart: kill("definition changed", "") };
  }
  if (isProbed(container.livenessProbe) && deps.livenessManager.get(status.containerId) === "failure") {
    return { kind: "initialized", startsNext: true, restart: kill("failed liveness probe", "LivenessProbe") };
  }
  return { kind: "initialized", startsNext: true };
}

function isProbed(probe: unknown): boolean {
  return probe !== undefined && probe !== null;
}

function unknownState({ name }: ContainerSpec, { containerId, state }: ContainerStatus): Finding {
  const message = `Init container is in "${state}" state, try killing it before restart`;
  return { kind: "restart", kill: { containerId, name, message, reason: "Unknown" } };
}
