import type { Encoded } from "../../../staging/apimachinery/protobuf/fields.js";
import type { ContainerConfig, ContainerMetadata } from "../../../staging/cri/messages/container.js";
import type { LinuxContainerResources } from "../../../staging/cri/messages/resources.js";
import type { PodSandboxConfig, PodSandboxMetadata } from "../../../staging/cri/messages/sandbox.js";
import type { Scope } from "../../../trace/scope.js";
import type { NetworkNamespace } from "../../shell/process/network-namespace.js";
import type { UtsNamespace } from "../../shell/process/process.js";
import type { ProcessTable } from "../../shell/process/process-table.js";
import type { StoredImage } from "../images/image-store.js";
import type { RunningContainer } from "./running.js";

/** The phases of a container's life. Times are nanoseconds. */
export type ContainerPhase =
  | { readonly state: "created" }
  | { readonly state: "running"; readonly startedAt: bigint }
  | {
      readonly state: "exited";
      /** 0 if it never ran */
      readonly startedAt: bigint;
      readonly finishedAt: bigint;
      readonly exitCode: number;
      readonly reason: ExitReason;
      readonly message: string;
    };

/** containerd's words, which the kubelet shows as the state's reason */
export type ExitReason = "Completed" | "Error" | "OOMKilled" | "StartError" | "Unknown";

/** A container of a sandbox. */
export class Container {
  phase: ContainerPhase = { state: "created" };
  /** its processes and streams while it runs, and what remains of them afterwards */
  running: RunningContainer | undefined;
  resources: LinuxContainerResources | undefined;
  /** its list item; undefined after a change */
  encoded: Encoded | undefined;
  isRemoving = false;
  /** the stop signal is sent once, however often the kubelet repeats the call */
  isStopSignaled = false;
  /** the call that ended its first process; undefined for one that ends by itself */
  endedBy: Scope | undefined;
  #onStopped: (() => void)[] = [];

  constructor(
    readonly containerId: string,
    /** unique among containers: `name_pod_namespace_uid_attempt` */
    readonly name: string,
    readonly sandbox: Sandbox,
    readonly config: ContainerConfig,
    readonly metadata: ContainerMetadata,
    readonly image: StoredImage,
    readonly logPath: string | undefined,
    /** nanoseconds */
    readonly createdAt: bigint,
  ) {
    this.resources = config.linux?.resources;
  }

  get isRunning(): boolean {
    return this.phase.state === "running";
  }

  /** Changes the phase; lists and events follow. */
  become(phase: ContainerPhase): void {
    this.phase = phase;
    this.encoded = undefined;
    if (phase.state !== "exited") return;
    const waiting = this.#onStopped;
    this.#onStopped = [];
    for (const resolve of waiting) resolve();
  }

  /** Resolves when the container is no longer running. */
  stopped(): Promise<void> {
    if (!this.isRunning) return Promise.resolve();
    return new Promise((resolve) => this.#onStopped.push(resolve));
  }
}

/** Mirrors containerd's makeContainerName. */
export function containerName(metadata: ContainerMetadata, pod: PodSandboxMetadata): string {
  return [metadata.name, pod.name, pod.namespace, pod.uid, metadata.attempt].join("_");
}

/** containerd's word for the way a container ended. */
export function exitReason(exitCode: number, isOutOfMemory: boolean): ExitReason {
  if (isOutOfMemory) return "OOMKilled";
  return exitCode === 0 ? "Completed" : "Error";
}

export type SandboxState = "ready" | "not-ready";

/** A pod sandbox: what its containers share. */
export class Sandbox {
  readonly containers = new Set<Container>();
  state: SandboxState = "ready";
  /** called when its own process has ended */
  onEnd: () => void = () => {};
  /** its list item; undefined after a change */
  encoded: Encoded | undefined;

  constructor(
    readonly sandboxId: string,
    /** unique among sandboxes: `name_namespace_uid_attempt` */
    readonly name: string,
    readonly config: PodSandboxConfig,
    readonly metadata: PodSandboxMetadata,
    readonly runtimeHandler: string,
    /** nanoseconds */
    readonly createdAt: bigint,
    /** undefined in the host network */
    readonly ip: string | undefined,
    /** its own, or the node's */
    readonly network: NetworkNamespace,
    /** the PID namespace of its own process, for containers that share it */
    readonly processes: ProcessTable,
    readonly uts: UtsNamespace,
  ) {}

  /** `default/web`, for people */
  get podName(): string {
    return `${this.metadata.namespace}/${this.metadata.name}`;
  }

  get usesHostNetwork(): boolean {
    return this.ip === undefined;
  }
}

/** Mirrors containerd's makeSandboxName. */
export function sandboxName({ name, namespace, uid, attempt }: PodSandboxMetadata): string {
  return [name, namespace, uid, attempt].join("_");
}
