import { RpcError } from "../../staging/cri/grpc/status.js";
import type { ContainerConfig } from "../../staging/cri/messages/container.js";
import type { PodSandboxConfig } from "../../staging/cri/messages/sandbox.js";
import type { HandlerLog } from "./log-file.js";
import type { VirtualPod } from "./virtual-pod.js";

/** A pod as the kubelet requested it. */
export interface VirtualSandbox {
  readonly sandboxId: string;
  readonly config: PodSandboxConfig;
  /** ns since 1970 */
  readonly createdAt: bigint;
  isReady: boolean;
  readonly containers: Map<string, VirtualContainer>;
  /** undefined until all of its containers have been started */
  work: VirtualPod | undefined;
}

/** A container of a virtual pod: only a state, since the work is the pod's. Times in ns since 1970; 0: not yet. */
export interface VirtualContainer {
  readonly containerId: string;
  readonly sandbox: VirtualSandbox;
  readonly config: ContainerConfig;
  readonly logPath: string;
  readonly createdAt: bigint;
  startedAt: bigint;
  finishedAt: bigint;
  state: "created" | "running" | "exited";
  exitCode: number;
  reason: string;
  message: string;
  log: HandlerLog | undefined;
}

/** The runtime's sandboxes and containers, by ID. */
export class Records {
  readonly sandboxes = new Map<string, VirtualSandbox>();
  readonly containers = new Map<string, VirtualContainer>();

  sandbox(sandboxId: string): VirtualSandbox {
    const found = this.sandboxes.get(sandboxId);
    if (found === undefined) throw new RpcError("NotFound", `there is no sandbox ${JSON.stringify(sandboxId)}`);
    return found;
  }

  container(containerId: string): VirtualContainer {
    const found = this.containers.get(containerId);
    if (found === undefined) throw new RpcError("NotFound", `there is no container ${JSON.stringify(containerId)}`);
    return found;
  }

  /** The pod's newest sandbox. */
  sandboxOfPod(podUid: string): VirtualSandbox | undefined {
    return [...this.sandboxes.values()].filter(({ config }) => config.metadata?.uid === podUid).at(-1);
  }

  remove(sandbox: VirtualSandbox): void {
    for (const containerId of sandbox.containers.keys()) this.containers.delete(containerId);
    this.sandboxes.delete(sandbox.sandboxId);
  }
}

export function hasLabels(
  labels: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>> | undefined,
): boolean {
  return Object.entries(wanted ?? {}).every(([name, value]) => labels[name] === value);
}
