import type {
  V1ContainerState,
  V1ContainerStatus,
  V1Pod,
  V1PodCondition,
  V1PodStatus,
} from "../../staging/apimachinery/api/pod.js";
import { rfc3339 } from "../../staging/apimachinery/time.js";
import { isSet } from "../../util/records.js";

/** The limit for the termination messages of all containers of a pod together: 12 KiB. */
const MAX_POD_TERMINATION_MESSAGE_LOG_LENGTH = 12 * 1024;

/**
 * The status as an API server would return it: times in whole seconds, messages cut, statuses in a fixed order, so that
 * the kubelet's status and the server's can be compared. Pure.
 *
 * Mirrors normalizeStatus in pkg/kubelet/status/status_manager.go.
 */
export function normalizeStatus(pod: V1Pod, status: V1PodStatus): V1PodStatus {
  const containers = (pod.spec.containers ?? []).length + (pod.spec.initContainers ?? []).length;
  const maxBytes = Math.floor(MAX_POD_TERMINATION_MESSAGE_LOG_LENGTH / Math.max(1, containers));
  const normalize = (one: V1ContainerStatus) => normalizeContainerStatus(one, maxBytes);
  const { conditions, startTime, containerStatuses, initContainerStatuses } = status;
  return {
    ...status,
    ...(isSet(startTime) ? { startTime: wholeSeconds(startTime) } : {}),
    ...(isSet(conditions) ? { conditions: conditions.map(normalizeCondition) } : {}),
    ...(isSet(containerStatuses) ? { containerStatuses: containerStatuses.map(normalize).sort(byName) } : {}),
    ...(isSet(initContainerStatuses)
      ? { initContainerStatuses: inSpecOrder(pod, initContainerStatuses.map(normalize)) }
      : {}),
  };
}

function wholeSeconds(time: string): string {
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(time)) return time;
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? time : rfc3339(ms);
}

function normalizeCondition(condition: V1PodCondition): V1PodCondition {
  const { lastProbeTime, lastTransitionTime } = condition;
  return {
    ...condition,
    ...(isSet(lastProbeTime) ? { lastProbeTime: wholeSeconds(lastProbeTime) } : {}),
    ...(isSet(lastTransitionTime) ? { lastTransitionTime: wholeSeconds(lastTransitionTime) } : {}),
  };
}

function normalizeContainerStatus(status: V1ContainerStatus, maxBytes: number): V1ContainerStatus {
  const { state, lastState } = status;
  return {
    ...status,
    ...(state === undefined ? {} : { state: normalizeState(state, maxBytes) }),
    ...(lastState === undefined ? {} : { lastState: normalizeState(lastState, maxBytes) }),
  };
}

function normalizeState(state: V1ContainerState, maxBytes: number): V1ContainerState {
  const { running, terminated } = state;
  if (isSet(running?.startedAt)) return { ...state, running: { startedAt: wholeSeconds(running.startedAt) } };
  if (!isSet(terminated)) return state;
  const { startedAt, finishedAt, message } = terminated;
  return {
    ...state,
    terminated: {
      ...terminated,
      ...(isSet(startedAt) ? { startedAt: wholeSeconds(startedAt) } : {}),
      ...(isSet(finishedAt) ? { finishedAt: wholeSeconds(finishedAt) } : {}),
      ...(message !== undefined && Buffer.byteLength(message) > maxBytes
        ? { message: Buffer.from(message).subarray(0, maxBytes).toString() }
        : {}),
    },
  };
}

function byName(a: V1ContainerStatus, b: V1ContainerStatus): number {
  return a.name < b.name ? -1 : a.name === b.name ? 0 : 1;
}

/** Mirrors SortInitContainerStatuses in pkg/kubelet/types/types.go. */
function inSpecOrder(pod: V1Pod, statuses: readonly V1ContainerStatus[]): V1ContainerStatus[] {
  const left = [...statuses];
  const sorted: V1ContainerStatus[] = [];
  for (const { name } of pod.spec.initContainers ?? []) {
    const i = left.findIndex((status) => status.name === name);
    if (i >= 0) sorted.push(...left.splice(i, 1));
  }
  return [...sorted, ...left];
}
