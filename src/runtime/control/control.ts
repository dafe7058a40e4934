import type { PullFault } from "../images/pull.js";
import type { RuntimeChange } from "../state/changes.js";
import type { ConditionType } from "../state/core.js";
import type { Fault, RpcName } from "./faults.js";

/** A pod to begin with, or to add behind the kubelet's back. */
export interface PodSeed {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly attempt?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** made up when it is not given */
  readonly sandboxId?: string;
  readonly hostname?: string;
  readonly logDirectory?: string;
  readonly containers: readonly ContainerSeed[];
}

export interface ContainerSeed {
  readonly name: string;
  readonly image: string;
  /** made up when it is not given */
  readonly id?: string;
  readonly attempt?: number;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly logPath?: string;
  /** default: running */
  readonly state?: "created" | "running";
}

export interface ContainerSnapshot {
  readonly containerId: string;
  readonly name: string;
  readonly attempt: number;
  readonly image: string;
  readonly state: "created" | "running" | "exited";
  /** only of one that has exited */
  readonly exitCode?: number;
  readonly reason?: string;
}

export interface SandboxSnapshot {
  readonly sandboxId: string;
  readonly podUid: string;
  readonly name: string;
  readonly namespace: string;
  readonly attempt: number;
  readonly state: "ready" | "not-ready";
  readonly ip?: string;
  readonly containers: readonly ContainerSnapshot[];
}

export interface RuntimeSnapshot {
  readonly sandboxes: readonly SandboxSnapshot[];
  readonly images: readonly string[];
  readonly faults: Readonly<Record<RpcName, Fault>>;
  readonly conditions: Readonly<Record<ConditionType, boolean>>;
  /** events that listeners have missed, by drops and by being slow */
  readonly eventsDropped: number;
  readonly dropsEvents: boolean;
  /** how long pulls take, and those that fail */
  readonly pulls: { readonly ms: number; readonly faults: readonly PullFault[] };
}

/** How a container is ended from outside. */
export interface KillOptions {
  /** as if it had exited with this code by itself */
  readonly exitCode?: number;
  /** `SIGTERM`, `9`: sent to its first process, which may ignore it; default SIGKILL */
  readonly signal?: string;
  /** the kernel's out-of-memory killer: 137, OOMKilled */
  readonly oom?: boolean;
}

/**
 * The runtime as somebody plays with it who is not the kubelet. IDs may be shortened. Whatever is done here is done as if
 * it happened to the runtime: events are sent, lists change.
 */
export interface RuntimeControl {
  snapshot(): RuntimeSnapshot;
  /** Changes from now on, until the signal. */
  changes(signal: AbortSignal): AsyncGenerator<RuntimeChange>;
  /** Adds a pod, with its images. @throws RpcError as the calls do */
  runPod(pod: PodSeed): { readonly sandboxId: string; readonly containerIds: readonly string[] };
  /** Adds a container to a sandbox that is ready. */
  runContainer(sandboxId: string, container: ContainerSeed): string;
  startContainer(containerId: string): void;
  /** Starts a new container of the same sandbox, name and configuration: the next attempt, as the kubelet would. */
  runAgain(containerId: string): { readonly containerId: string; readonly attempt: number };
  /** Ends a container that runs. @throws RpcError NotFound, FailedPrecondition, InvalidArgument for a signal that is none */
  killContainer(containerId: string, options?: KillOptions): Promise<void>;
  /** The sandbox's own process dies. */
  setSandboxNotReady(sandboxId: string): void;
  /** Removes a container that runs or not. @param silently without an event */
  removeContainer(containerId: string, silently?: boolean): Promise<void>;
  removeSandbox(sandboxId: string, silently?: boolean): Promise<void>;
  /** @param rpc `ListContainers`, `*` @param fault undefined: as it should be @throws LabError USAGE */
  setFault(rpc: RpcName, fault: Fault | undefined): void;
  clearFaults(): void;
  /** Container events are not sent: `true` until told otherwise, or so many. */
  dropEvents(what: boolean | number): void;
  /** All listeners to container events are cut off; they may come again. */
  breakEventStreams(): void;
  /** @param message why it is not true; undefined: it is true */
  setCondition(type: ConditionType, message: string | undefined): void;
  /** Makes pulls fail of images whose full name contains `image`. @param how undefined: as it should be */
  setPullFault(image: string, how: PullFault["how"] | undefined): void;
  /** ms that a pull takes */
  setPullTime(ms: number): void;
  /** No pull fails any more, and they take as long as at the start. */
  resetPulls(): void;
}
