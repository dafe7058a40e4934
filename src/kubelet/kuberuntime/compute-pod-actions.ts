import type { V1Pod } from "../../apimachinery/api/pod.js";
import { factFor } from "../../release/facts.js";
import { defined } from "../../util/defined.js";
import { hashContainer } from "../container/hash.js";
import { findContainerStatusByName, shouldContainerBeRestarted } from "../container/helpers.js";
import type { ContainerStatus, PodStatus } from "../container/runtime.js";
import {
  type ContainerSpec,
  containersOf,
  ephemeralContainersOf,
  initContainersOf,
  isRestartableInitContainer,
} from "../container/spec.js";
import { computeInitContainerActions, findNextInitContainer, hasAnyContainerCreated } from "./init-containers.js";
import type { KillReason, PodActions, PodActionsDeps } from "./pod-actions.js";
import { podSandboxChanged } from "./pod-sandbox-changed.js";

/**
 * Compares what a pod's spec wants with what the runtime has.
 *
 * Mirrors computePodActions in pkg/kubelet/kuberuntime/kuberuntime_manager.go; restartable init containers as of v1.29.
 * Pure, but for asking what the probes have found. In-place resizing is not there.
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
    // They are never started a second time.
    findContainerStatusByName(podStatus, name) === undefined ? [i] : [],
  );
  const isInitialized = hasSidecars
    ? computeInitContainerActions(pod, podStatus, actions, deps)
    : nextInitContainer(actions, pod, podStatus);
  if (!isInitialized || (hasSidecars && actions.killPod)) return actions;
  const keptCount = inspectContainers(actions, pod, podStatus, deps);
  if (keptCount === 0 && actions.containersToStart.length === 0) {
    actions.killPod = true;
    // What only runs beside the others must not keep the pod alive.
    if (hasSidecars) actions.initContainersToStart = [];
  }
  return actions;
}

/** Mirrors HasRestartableInitContainer in pkg/kubelet/types/pod_update.go, where the feature is on. */
export function hasRestartableInitContainer(pod: V1Pod, kubeVersion: string): boolean {
  return factFor("sidecarContainers", kubeVersion) && initContainersOf(pod).some(isRestartableInitContainer);
}

/** Everything goes and comes again, from the first init container on; but what is over stays over. */
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

/** @returns true: all init containers have run */
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

/** @returns how many containers run and shall go on */
function inspectContainers(actions: PodActions, pod: V1Pod, podStatus: PodStatus, deps: PodActionsDeps): number {
  let keptCount = 0;
  for (const [i, container] of containersOf(pod).entries()) {
    const status = findContainerStatusByName(podStatus, container.name);
    if (status?.state !== "running") {
      if (!shouldContainerBeRestarted(container, pod, podStatus)) continue;
      actions.containersToStart.push(i);
      // It may be running after all: two of it must not.
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
  /** whatever the restart policy says: the spec has changed */
  readonly restartsAnyway: boolean;
}

/** Why a container that runs must not go on; undefined: it may. */
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
