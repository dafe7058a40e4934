import {
  containersOf,
  initContainersOf,
  isPodPhaseTerminal,
  isRestartableInitContainer,
  type V1ContainerStatus,
  type V1Pod,
  type V1PodCondition,
  type V1PodStatus,
  withCondition,
} from "../../staging/apimachinery/api/pod.js";
import { rfc3339 } from "../../staging/apimachinery/time.js";
import type { StageNext } from "./stage.js";

export interface PodPlace {
  readonly hostIp: string;
  readonly podIp: string;
}

/**
 * The status of a pod after a stage, as a kubelet would report it. Pure.
 * @returns undefined if the stage changes nothing
 */
export function nextStatus(
  pod: V1Pod,
  { phase: wantedPhase, conditions: wanted = {} }: StageNext,
  place: PodPlace,
  nowMs: number,
): Partial<V1PodStatus> | undefined {
  const { status } = pod;
  const phase = wantedPhase ?? status.phase ?? "Pending";
  const now = rfc3339(nowMs);
  const isNewPhase = phase !== status.phase;
  const own = isNewPhase ? conditionsOf(phase) : [];
  const given = Object.entries(wanted).map(([type, value]): V1PodCondition => ({ type, status: value }));
  const before = status.conditions ?? [];
  const isNew = ({ type, status: value }: V1PodCondition) => before.find((one) => one.type === type)?.status !== value;
  if (!isNewPhase && !given.some(isNew)) return undefined;
  let conditions: V1PodCondition[] = [...before];
  for (const one of [...own, ...given]) conditions = withCondition(conditions, one, now);
  if (!isNewPhase || phase === "Pending") return { phase, conditions };
  const startTime = status.startTime ?? now;
  const containers = (list: typeof pod.spec.containers, state: "running" | "done") =>
    list.map((one) => containerStatus(pod, one, state === "done" ? ended(phase, startTime, now) : running(now)));
  const isEnded = isPodPhaseTerminal(phase);
  const inits = initContainersOf(pod);
  return {
    phase,
    conditions,
    startTime,
    hostIP: place.hostIp,
    podIP: place.podIp,
    podIPs: [{ ip: place.podIp }],
    containerStatuses: containers(containersOf(pod), isEnded ? "done" : "running"),
    ...(inits.length === 0
      ? {}
      : {
          initContainerStatuses: inits.map((one) => {
            const isRunning = isRestartableInitContainer(one) && !isEnded;
            return containerStatus(pod, one, isRunning ? running(now) : ended("Succeeded", startTime, now));
          }),
        }),
  };
}

function conditionsOf(phase: string): readonly V1PodCondition[] {
  const is = (type: string, status: "True" | "False", more: object = {}) => ({ type, status, ...more });
  const isReady = phase === "Running" ? "True" : "False";
  const why = phase === "Succeeded" ? { reason: "PodCompleted" } : phase === "Failed" ? { reason: "PodFailed" } : {};
  const isInitialized = is("Initialized", "True", phase === "Succeeded" ? why : {});
  return [
    ...(phase === "Pending" ? [] : [isInitialized]),
    is("Ready", isReady, why),
    is("ContainersReady", isReady, why),
    is("PodScheduled", "True"),
  ];
}

function running(now: string) {
  return { ready: true, started: true, state: { running: { startedAt: now } } };
}

function ended(phase: string, startedAt: string, finishedAt: string) {
  const [exitCode, reason] = phase === "Failed" ? [1, "Error"] : [0, "Completed"];
  return { ready: exitCode === 0, started: false, state: { terminated: { exitCode, reason, startedAt, finishedAt } } };
}

type State = Pick<V1ContainerStatus, "ready" | "started" | "state">;

function containerStatus(
  pod: V1Pod,
  { name, image = "" }: { readonly name: string; readonly image?: string | undefined },
  state: State,
): V1ContainerStatus {
  const containerID = `simulated://${pod.metadata.uid}/${name}`;
  return { name, image, imageID: `simulated://${image}`, containerID, restartCount: 0, ...state };
}
