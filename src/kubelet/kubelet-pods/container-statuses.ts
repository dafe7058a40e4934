import type { V1Container, V1ContainerState, V1ContainerStatus, V1Pod } from "../../staging/apimachinery/api/pod.js";
import { rfc3339 } from "../../staging/apimachinery/time.js";
import { defined } from "../../util/defined.js";
import { isSet } from "../../util/records.js";
import { findContainerStatusByName, shouldContainerBeRestarted } from "../container/helpers.js";
import { buildContainerId, type ContainerStatus, type PodStatus } from "../container/runtime.js";
import type { ReasonCache } from "./reason-cache.js";

/** Mirrors ContainerCreating and PodInitializing in pkg/kubelet/kubelet_pods.go. */
const CONTAINER_CREATING = "ContainerCreating";
const POD_INITIALIZING = "PodInitializing";

/** Go's time.Time{}, which the API shows as null. */
const NO_TIME = null;
/** The exit code of a container that vanished: as if ended by SIGKILL. */
const LOST_EXIT_CODE = 137;

export interface ContainerStatusesOptions {
  /** the runtime's name, the prefix of container IDs */
  readonly runtimeName: string;
  readonly hasInitContainers: boolean;
  readonly isInitContainer: boolean;
}

interface Draft extends V1ContainerStatus {
  readonly state: V1ContainerState;
}

/**
 * The statuses of one kind of a pod's containers, from the runtime's status, the last API status, and the reasons for
 * failed starts. Pure except for reading the reason cache.
 *
 * Mirrors convertToAPIContainerStatuses in pkg/kubelet/kubelet_pods.go.
 * @param podStatus newest containers first, as the runtime's reader sorts them
 * @param previous the last known statuses of these containers
 * @returns in the order of the spec; `ready` and `started` are left to the probe manager
 */
export function convertToApiContainerStatuses(
  reasonCache: Pick<ReasonCache, "get">,
  pod: V1Pod,
  podStatus: PodStatus,
  previous: readonly V1ContainerStatus[],
  containers: readonly V1Container[],
  options: ContainerStatusesOptions,
): V1ContainerStatus[] {
  const old = new Map(previous.map((status) => [status.name, status]));
  const waiting = options.hasInitContainers ? POD_INITIALIZING : CONTAINER_CREATING;
  const drafts = new Map(containers.map((container) => [container.name, draft(container, old, waiting)]));
  for (const { name } of containers) {
    const lost = lostContainer(pod, podStatus, old.get(name), drafts.get(name), waiting);
    if (lost !== undefined) drafts.set(name, lost);
  }
  applyRuntimeStatuses(drafts, podStatus, old, options.runtimeName);
  for (const container of containers) applyReason(reasonCache, drafts, pod, podStatus, container, options);
  return [...drafts.values()];
}

/** The status before the runtime reports anything: waiting, or the last termination. */
function draft({ name, image = "" }: V1Container, old: ReadonlyMap<string, V1ContainerStatus>, reason: string): Draft {
  const before = old.get(name);
  if (isSet(before?.state?.terminated)) return { ...before, state: before.state };
  return {
    name,
    image,
    imageID: "",
    ready: false,
    restartCount: 0,
    state: { waiting: { reason } },
    ...(before === undefined ? {} : keptOf(before)),
  };
}

function keptOf({ restartCount, lastState }: V1ContainerStatus) {
  return {
    ...defined({ restartCount, lastState }),
  };
}

/**
 * A container that was last seen running and that the runtime no longer lists: it ended in an unknown way. Showing it
 * as waiting would make the pod Pending again.
 * @returns undefined for any other container
 */
function lostContainer(
  pod: V1Pod,
  podStatus: PodStatus,
  before: V1ContainerStatus | undefined,
  now: Draft | undefined,
  waiting: string,
): Draft | undefined {
  if (before === undefined || now === undefined || !isSet(before.state?.running)) return undefined;
  if (findContainerStatusByName(podStatus, before.name) !== undefined) return undefined;
  if (now.state.waiting?.reason !== waiting || isSet(now.lastState?.terminated)) return undefined;
  const terminated = {
    reason: "ContainerStatusUnknown",
    message: "The container could not be located when the pod was deleted.  The container used to be Running",
    exitCode: LOST_EXIT_CODE,
    startedAt: NO_TIME,
    finishedAt: NO_TIME,
  };
  // It is restarted, unless the pod is terminating.
  const restarts = pod.metadata.deletionTimestamp === undefined ? 1 : 0;
  return { ...now, lastState: { terminated }, restartCount: (now.restartCount ?? 0) + restarts };
}

/** The newest container of each name gives the state, the one before it the last state. */
function applyRuntimeStatuses(
  drafts: Map<string, Draft>,
  { containerStatuses }: PodStatus,
  old: ReadonlyMap<string, V1ContainerStatus>,
  runtimeName: string,
): void {
  const seen = new Map<string, number>();
  for (const status of containerStatuses) {
    const { name } = status;
    const now = drafts.get(name);
    const count = seen.get(name) ?? 0;
    if (now === undefined || count >= 2) continue;
    const converted = convertContainerStatus(status, old.get(name), runtimeName);
    drafts.set(name, count === 0 ? converted : { ...now, lastState: converted.state });
    seen.set(name, count + 1);
  }
}

function convertContainerStatus(
  status: ContainerStatus,
  before: V1ContainerStatus | undefined,
  runtimeName: string,
): Draft {
  const { containerId, name, state, image, imageId, restartCount, exitCode, reason, message } = status;
  const containerID = buildContainerId(runtimeName, containerId);
  const base = { name, image, imageID: imageId, containerID, ready: false, restartCount };
  const startedAt = timeOf(status.startedAtMs);
  switch (state) {
    case "running":
      return { ...base, state: { running: { startedAt } } };
    case "exited": {
      const said = { ...defined({ reason, message }) };
      const finishedAt = timeOf(status.finishedAtMs);
      return { ...base, state: { terminated: { exitCode, ...said, startedAt, finishedAt, containerID } } };
    }
    case "unknown": {
      if (!isSet(before?.state?.running)) return { ...base, state: { waiting: {} } };
      // It ran, and the runtime has lost its state: it counts as failed, not as never started.
      const terminated = {
        reason: "ContainerStatusUnknown",
        message: "The container could not be located when the pod was terminated",
        exitCode: LOST_EXIT_CODE,
        startedAt: NO_TIME,
        finishedAt: NO_TIME,
      };
      return { ...base, restartCount: (before?.restartCount ?? 0) + 1, state: { terminated } };
    }
    default:
      // Created but not started: it is waiting.
      return { ...base, state: { waiting: {} } };
  }
}

/** A container that should start, but failed to when last tried, is waiting with that failure as the reason. */
function applyReason(
  reasonCache: Pick<ReasonCache, "get">,
  drafts: Map<string, Draft>,
  pod: V1Pod,
  podStatus: PodStatus,
  container: V1Container,
  { isInitContainer }: ContainerStatusesOptions,
): void {
  const status = findContainerStatusByName(podStatus, container.name);
  // This includes sidecars that exited with 0: their wait for the restart is not shown.
  if (isInitContainer && status?.state === "exited" && status.exitCode === 0) return;
  if (!shouldContainerBeRestarted(container, pod, podStatus)) return;
  const why = reasonCache.get(pod.metadata.uid, container.name);
  const now = drafts.get(container.name);
  if (why === undefined || now === undefined) return;
  const lastState = isSet(now.state.terminated) ? { lastState: now.state } : {};
  const { reason, message } = why;
  drafts.set(container.name, { ...now, ...lastState, state: { waiting: { reason, message } } });
}

/** For a container that could not be started the runtime reports 0, so the time is 1970, as upstream shows it. */
function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? NO_TIME : rfc3339(ms);
}
