import {
  isRestartableInitContainer,
  type PodPhase,
  type V1ContainerStatus,
  type V1PodSpec,
} from "../../staging/apimachinery/api/pod.js";
import { isSet } from "../../util/records.js";

/** Reports whether a regular container ever ran. Mirrors HasAnyRegularContainerStarted in kubelet/container/helpers.go. */
export function hasAnyRegularContainerStarted(spec: V1PodSpec, statuses: readonly V1ContainerStatus[]): boolean {
  return (spec.containers ?? []).some(({ name }) => {
    const status = statusOf(statuses, name);
    if (status === undefined) return false;
    const { running, terminated } = status.state ?? {};
    return isSet(running) || isSet(terminated);
  });
}

export interface PhaseOptions {
  /** the pod starts no container any more: then all of its containers decide (since 1.27) */
  readonly podIsTerminal?: boolean;
}

/**
 * The phase of a pod, from the states of its containers. Pure.
 *
 * Mirrors getPhase in pkg/kubelet/kubelet_pods.go.
 * Differs: handles restartable init containers, which came with 1.29; a spec of an older API server has none. Only they
 * may restart without making the pod Pending again; some releases from 1.29 on treat all init containers that way.
 *
 * @param statuses of init and regular containers, in any order
 */
export function getPhase(
  spec: V1PodSpec,
  statuses: readonly V1ContainerStatus[],
  { podIsTerminal = false }: PhaseOptions = {},
): PodPhase {
  const init = countInitContainers(spec, statuses);
  const main = countContainers(spec, statuses);
  const { restartPolicy } = spec;
  if (init.failed > 0 && restartPolicy === "Never") return "Failed";
  if (init.pending > 0) return "Pending";
  if (init.pendingRestartable > 0 && !hasAnyRegularContainerStarted(spec, statuses)) return "Pending";
  if (main.waiting + init.waitingRestartable > 0) return "Pending";
  const unknown = main.unknown + init.unknownRestartable;
  if (unknown > 0) return "Pending";
  if (main.running + init.runningRestartable > 0) return "Running";
  if (main.stopped === 0) return "Pending";
  // All containers have stopped: the restart policy decides whether that is the end.
  const allSucceeded = main.stopped === main.succeeded;
  if (podIsTerminal) return allSucceeded ? "Succeeded" : "Failed";
  if (restartPolicy === "Always") return "Running";
  if (allSucceeded) return "Succeeded";
  return restartPolicy === "Never" ? "Failed" : "Running";
}

function countInitContainers(spec: V1PodSpec, statuses: readonly V1ContainerStatus[]) {
  const counts = {
    pending: 0,
    failed: 0,
    pendingRestartable: 0,
    runningRestartable: 0,
    waitingRestartable: 0,
    unknownRestartable: 0,
  };
  for (const container of spec.initContainers ?? []) {
    const status = statusOf(statuses, container.name);
    if (isRestartableInitContainer(container)) countRestartable(counts, status);
    else countInit(counts, status);
  }
  return counts;
}

function countInit(counts: { pending: number; failed: number }, status: V1ContainerStatus | undefined): void {
  const { running, terminated, waiting } = status?.state ?? {};
  const ended = isSet(running)
    ? undefined
    : isSet(terminated)
      ? terminated
      : isSet(waiting)
        ? status?.lastState?.terminated
        : undefined;
  if (!isSet(ended)) counts.pending++;
  else if (ended.exitCode !== 0) counts.failed++;
}

function countRestartable(
  counts: {
    pendingRestartable: number;
    runningRestartable: number;
    waitingRestartable: number;
    unknownRestartable: number;
  },
  status: V1ContainerStatus | undefined,
): void {
  const { running, terminated, waiting } = status?.state ?? {};
  if (isSet(running)) {
    if (status?.started !== true) counts.pendingRestartable++;
    counts.runningRestartable++;
  } else if (isSet(terminated)) {
    // A terminated container does not decide: it is restarted as long as the pod lives.
  } else if (isSet(waiting)) {
    if (isSet(status?.lastState?.terminated)) return;
    counts.pendingRestartable++;
    counts.waitingRestartable++;
  } else {
    if (status !== undefined) counts.pendingRestartable++;
    counts.unknownRestartable++;
  }
}

function countContainers(spec: V1PodSpec, statuses: readonly V1ContainerStatus[]) {
  const counts = { unknown: 0, running: 0, waiting: 0, stopped: 0, succeeded: 0 };
  for (const { name } of spec.containers ?? []) {
    const status = statusOf(statuses, name);
    const { running, terminated, waiting } = status?.state ?? {};
    if (isSet(running)) counts.running++;
    else if (isSet(terminated)) {
      counts.stopped++;
      if (terminated.exitCode === 0) counts.succeeded++;
    } else if (isSet(waiting)) {
      if (isSet(status?.lastState?.terminated)) counts.stopped++;
      else counts.waiting++;
    } else counts.unknown++;
  }
  return counts;
}

export function statusOf(statuses: readonly V1ContainerStatus[], name: string): V1ContainerStatus | undefined {
  return statuses.find((status) => status.name === name);
}
