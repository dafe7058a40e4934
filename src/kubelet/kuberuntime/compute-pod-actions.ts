import {
  type ContainerSpec,
  containersOf,
  ephemeralContainersOf,
  initContainersOf,
  sidecarsOf,
  type V1Pod,
} from "../../staging/apimachinery/api/pod.js";
import { defined } from "../../util/defined.js";
import { factFor } from "../../util/release/facts.js";
import { hashContainer } from "../container/hash.js";
import { findContainerStatusByName, shouldContainerBeRestarted } from "../container/helpers.js";
import type { ContainerStatus, PodStatus } from "../container/runtime.js";
import { computeInitContainerActions, findNextInitContainer, hasAnyContainerCreated } from "./init-containers.js";
import { type KillReason, type PodActions, type PodActionsDeps, podSandboxChanged } from "./pod-actions.js";

/**
 * Compares a pod's spec with the runtime's state of it.
 *
 * Mirrors computePodActions in pkg/kubelet/kuberuntime/kuberuntime_manager.go; restartable init containers as of v1.29.
 * Pure except for reading probe results. In-place resizing is not implemented.
 */
export function computePodActions(pod: V1Pod, podStatus: PodStatus, deps: PodActionsDeps): PodActions {
  const { isChanged, attempt, sandboxId, why } = podSandboxChanged(pod, podStatus);
  const actions: PodActions = {
    killPod: isChanged,
    createSandbox: isChanged,
    ...defined({ sandboxId }),
    attempt,
    initContainersToStart: [],
    containersToStart: [],
    containersToKill: [],
    ephemeralContainersToStart: [],
    why,
  };
  const hasSidecars = hasRestartableInitContainer(pod, deps.kubeVersion);
  if (isChanged) return startAnew(actions, pod, podStatus, hasSidecars);
  actions.ephemeralContainersToStart = ephemeralContainersOf(pod).flatMap(({ name }, i) =>
    // Ephemeral containers are never restarted.
    findContainerStatusByName(podStatus, name) === undefined ? [i] : [],
  );
  const isInitialized = hasSidecars
    ? computeInitContainerActions(pod, podStatus, actions, deps)
    : nextInitContainer(actions, pod, podStatus);
  if (!isInitialized || (hasSidecars && actions.killPod)) return actions;
  const keptCount = inspectContainers(actions, pod, podStatus, deps);
  if (keptCount === 0 && actions.containersToStart.length === 0) {
    actions.killPod = true;
    // Sidecars must not keep a completed pod alive.
    if (hasSidecars) actions.initContainersToStart = [];
  }
  return actions;
}

/** Mirrors HasRestartableInitContainer in pkg/kubelet/types/pod_update.go with the feature enabled. */
export function hasRestartableInitContainer(pod: V1Pod, kubeVersion: string): boolean {
  return factFor("sidecarContainers", kubeVersion) && sidecarsOf(pod).length > 0;
}

/** Recreates the sandbox and all containers, from the first init container on; completed containers stay completed. */
function startAnew(actions: PodActions, pod: V1Pod, podStatus: PodStatus, hasSidecars: boolean): PodActions {
  const { restartPolicy } = pod.spec;
  if (restartPolicy === "Never" && actions.attempt !== 0 && podStatus.containerStatuses.length !== 0) {
    actions.createSandbox = false;
    return actions;
  }
  const toStart = containersOf(pod).flatMap((container, i) =>
    restartPolicy === "OnFailure" && hasSucceeded(container, podStatus) ? [] : [i],
  );
  if (toStart.length === 0) {
    const isInitialized = hasSidecars
      ? hasAnyContainerCreated(pod, podStatus)
      : findNextInitContainer(pod, podStatus).isDone;
    if (isInitialized) {
      actions.createSandbox = false;
      return actions;
    }
  }
  if (initContainersOf(pod).length > 0) actions.initContainersToStart = [0];
  else actions.containersToStart = toStart;
  return actions;
}

function hasSucceeded({ name }: ContainerSpec, podStatus: PodStatus): boolean {
  const status = findContainerStatusByName(podStatus, name);
  return status?.state === "exited" && status.exitCode === 0;
}

/** @returns true when all init containers have completed */
function nextInitContainer(actions: PodActions, pod: V1Pod, podStatus: PodStatus): boolean {
  const { failed, next, isDone } = findNextInitContainer(pod, podStatus);
  if (isDone || next === undefined) return isDone;
  if (failed !== undefined && pod.spec.restartPolicy === "Never") {
    actions.killPod = true;
    return false;
  }
  if (failed?.state === "unknown") {
    actions.containersToKill.push({
      containerId: failed.containerId,
      name: failed.name,
      message: 'Init container is in "unknown" state, try killing it before restart',
      reason: "Unknown",
    });
  }
  actions.initContainersToStart = [next];
  return false;
}

/** @returns the number of running containers that keep running */
function inspectContainers(actions: PodActions, pod: V1Pod, podStatus: PodStatus, deps: PodActionsDeps): number {
  let keptCount = 0;
  for (const [i, container] of containersOf(pod).entries()) {
    const status = findContainerStatusByName(podStatus, container.name);
    if (status?.state !== "running") {
      if (!shouldContainerBeRestarted(container, pod, podStatus)) continue;
      actions.containersToStart.push(i);
      // It may still be running; kill it first so that two copies never run.
      if (status?.state === "unknown") {
        const message = 'Container is in "unknown" state, try killing it before restart';
        actions.containersToKill.push({ ...target(status), message, reason: "Unknown" });
      }
      continue;
    }
    const complaint = complaintOf(container, status, deps);
    if (complaint === undefined) {
      keptCount++;
      continue;
    }
    const isRestarted = complaint.restartsAnyway || pod.spec.restartPolicy !== "Never";
    if (isRestarted) actions.containersToStart.push(i);
    const message = `Container ${container.name} ${complaint.text}${isRestarted ? ", will be restarted" : ""}`;
    actions.containersToKill.push({ ...target(status), message, reason: complaint.reason });
  }
  return keptCount;
}

function target({ containerId, name }: ContainerStatus): { readonly containerId: string; readonly name: string } {
  return { containerId, name };
}

interface Complaint {
  readonly text: string;
  readonly reason: KillReason;
  /** true: ignores the restart policy, because the spec has changed */
  readonly restartsAnyway: boolean;
}

/** Why a running container must be killed; undefined if it may keep running. */
function complaintOf(container: ContainerSpec, status: ContainerStatus, deps: PodActionsDeps): Complaint | undefined {
  if (hashContainer(container, deps.kubeVersion) !== status.hash) {
    return { text: "definition changed", reason: "", restartsAnyway: true };
  }
  if (deps.livenessManager.get(status.containerId) === "failure") {
    return { text: "failed liveness probe", reason: "LivenessProbe", restartsAnyway: false };
  }
  if (deps.startupManager.get(status.containerId) === "failure") {
    return { text: "failed startup probe", reason: "StartupProbe", restartsAnyway: false };
  }
  return undefined;
}
