import type { ProbeResults } from "../container/runtime-helper.js";

/** Why a container is killed: a failed probe may set its own grace period. Mirrors containerKillReason. */
export type KillReason = "StartupProbe" | "LivenessProbe" | "FailedPostStartHook" | "Unknown" | "";

/** Mirrors containerToKillInfo. */
export interface ContainerToKill {
  readonly containerId: string;
  readonly name: string;
  /** message of the Killing event */
  readonly message: string;
  readonly reason: KillReason;
}

/** The actions to take for a pod. Mirrors podActions; containers are named by their index in the pod's spec. */
export interface PodActions {
  /** stop all containers and the sandbox */
  killPod: boolean;
  createSandbox: boolean;
  readonly sandboxId?: string;
  readonly attempt: number;
  /** without restartable ones at most one: the next */
  initContainersToStart: number[];
  containersToStart: number[];
  readonly containersToKill: ContainerToKill[];
  ephemeralContainersToStart: number[];
  /** what decided about the sandbox, for the trace */
  readonly why: string;
}

export interface PodActionsDeps {
  readonly livenessManager: ProbeResults;
  readonly startupManager: ProbeResults;
  /** `1.25` */
  readonly kubeVersion: string;
}
