import type {
  V1ContainerState,
  V1ContainerStateTerminated,
  V1ContainerStatus,
  V1PodCondition,
  V1PodStatus,
} from "../../staging/apimachinery/api/pod.js";
import { isSet } from "../../util/records.js";

type Fields = Readonly<Record<string, unknown>>;

/**
 * A status as Go's encoder writes it: without empty members that Go omits, with all members that Go always writes. So
 * two statuses mean the same exactly when these are equal. Members that the kubelet does not know are dropped.
 *
 * Mirrors the JSON of k8s.io/api/core/v1/types.go (PodStatus). Pure.
 */
export function marshalPodStatus(status: V1PodStatus): Fields {
  const { conditions, podIPs, initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = status;
  return withoutEmpty({
    phase: status.phase,
    conditions: listOf(conditions, marshalCondition),
    message: status.message,
    reason: status.reason,
    nominatedNodeName: status.nominatedNodeName,
    hostIP: status.hostIP,
    podIP: status.podIP,
    podIPs: listOf(podIPs, ({ ip }) => ({ ip })),
    startTime: status.startTime,
    initContainerStatuses: listOf(initContainerStatuses, marshalContainerStatus),
    containerStatuses: listOf(containerStatuses, marshalContainerStatus),
    qosClass: status.qosClass,
    ephemeralContainerStatuses: listOf(ephemeralContainerStatuses, marshalContainerStatus),
  });
}

function marshalCondition(condition: V1PodCondition): Fields {
  const { type, status, lastProbeTime = null, lastTransitionTime = null, reason, message } = condition;
  return { type, status, lastProbeTime, lastTransitionTime, ...withoutEmpty({ reason, message }) };
}

function marshalContainerStatus(status: V1ContainerStatus): Fields {
  return {
    name: status.name,
    state: marshalState(status.state),
    lastState: marshalState(status.lastState),
    ready: status.ready ?? false,
    restartCount: status.restartCount ?? 0,
    image: status.image ?? "",
    imageID: status.imageID ?? "",
    ...withoutEmpty({ containerID: status.containerID }),
    ...(typeof status.started === "boolean" ? { started: status.started } : {}),
  };
}

function marshalState(state: V1ContainerState | undefined): Fields {
  const { waiting, running, terminated } = state ?? {};
  return withoutEmpty({
    waiting: isSet(waiting) ? withoutEmpty({ reason: waiting.reason, message: waiting.message }) : undefined,
    running: isSet(running) ? { startedAt: running.startedAt ?? null } : undefined,
    terminated: isSet(terminated) ? marshalTerminated(terminated) : undefined,
  });
}

function marshalTerminated(terminated: V1ContainerStateTerminated): Fields {
  const { exitCode, signal = 0, reason, message, startedAt = null, finishedAt = null, containerID } = terminated;
  const optional = { ...(signal === 0 ? {} : { signal }), ...withoutEmpty({ reason, message, containerID }) };
  return { exitCode, startedAt, finishedAt, ...optional };
}

function listOf<T>(list: readonly T[] | null | undefined, item: (one: T) => Fields): readonly Fields[] | undefined {
  return isSet(list) && list.length > 0 ? list.map(item) : undefined;
}

function withoutEmpty(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isSet(value) && value !== ""));
}
