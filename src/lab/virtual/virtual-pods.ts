import { join } from "node:path";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { RpcError } from "../../staging/cri/grpc/status.js";
import type { ContainerConfig } from "../../staging/cri/messages/container.js";
import type { PodSandboxConfig } from "../../staging/cri/messages/sandbox.js";
import type { Random } from "../../util/random.js";
import type { TaskContainer } from "./handler.js";
import { HandlerLog } from "./log-file.js";
import { Records, type VirtualContainer, type VirtualSandbox } from "./records.js";
import { VirtualPod, type VirtualPodDeps } from "./virtual-pod.js";

export interface VirtualPodsDeps extends VirtualPodDeps {
  readonly random: Random;
  /** the kubelet's version of the pod */
  readonly pod: (podUid: string) => V1Pod | undefined;
  /** called when a pod reports progress or ends */
  readonly onChanged: (podUid: string) => void;
}

const NS_PER_MS = 1_000_000n;
const ID_BYTES = 32;

/**
 * The pods of a handler. Each sandbox is a pod. When the last of its containers has been started, the handler is called
 * once for the whole pod; its end is the end of all containers. Init containers do nothing and succeed at once.
 */
export class VirtualPods {
  readonly records = new Records();
  #lastNs = 0n;
  #isClosed = false;

  constructor(
    readonly deps: VirtualPodsDeps,
    readonly options: { readonly timeoutMs: number | undefined },
  ) {}

  runSandbox(config: PodSandboxConfig): VirtualSandbox {
    const sandbox: VirtualSandbox = {
      sandboxId: this.#newId(),
      config,
      createdAt: this.#nowNs(),
      isReady: true,
      containers: new Map(),
      work: undefined,
    };
    this.records.sandboxes.set(sandbox.sandboxId, sandbox);
    return sandbox;
  }

  /** @param logDirectory the folder that the kubelet created */
  createContainer(sandbox: VirtualSandbox, config: ContainerConfig, logDirectory: string): VirtualContainer {
    if (!sandbox.isReady) throw new RpcError("FailedPrecondition", "the sandbox has been stopped");
    const container: VirtualContainer = {
      containerId: this.#newId(),
      sandbox,
      config,
      logPath: join(logDirectory, config.logPath),
      createdAt: this.#nowNs(),
      startedAt: 0n,
      finishedAt: 0n,
      state: "created",
      exitCode: 0,
      reason: "",
      message: "",
      log: undefined,
    };
    sandbox.containers.set(container.containerId, container);
    this.records.containers.set(container.containerId, container);
    return container;
  }

  startContainer(container: VirtualContainer): void {
    if (container.state !== "created") throw new RpcError("FailedPrecondition", `it is ${container.state} already`);
    if (this.#isClosed) throw new RpcError("Unavailable", "the runtime ends");
    const { sandbox, config } = container;
    const pod = this.deps.pod(sandbox.config.metadata?.uid ?? "");
    if (pod === undefined) throw new RpcError("NotFound", "the kubelet no longer knows this pod");
    container.log = new HandlerLog(container.logPath, this.deps.clock);
    container.state = "running";
    container.startedAt = this.#nowNs();
    const name = config.metadata?.name ?? "";
    const wanted = (pod.spec.containers ?? []).map((one) => one.name);
    if (!wanted.includes(name)) {
      this.#end(container, { exitCode: 0, reason: "Completed", message: "" });
      return;
    }
    const running = [...sandbox.containers.values()].filter(({ state }) => state === "running");
    const started = new Map(running.map((one) => [one.config.metadata?.name ?? "", one]));
    if (wanted.every((one) => started.has(one))) this.#beginWork(sandbox, pod, [...started.values()]);
  }

  /** Stopping any container stops the pod's work. */
  async stopContainer(container: VirtualContainer, graceMs: number): Promise<void> {
    const { work } = container.sandbox;
    if (container.state === "running" && work !== undefined) await work.stop("the kubelet stops the pod", graceMs);
    else if (container.state !== "exited") this.#end(container, { exitCode: 137, reason: "Error", message: "" });
  }

  async stopSandbox(sandbox: VirtualSandbox): Promise<void> {
    sandbox.isReady = false;
    for (const container of sandbox.containers.values()) await this.stopContainer(container, 0);
  }

  /** Abandons all work. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.records.sandboxes.values(), (sandbox) => this.stopSandbox(sandbox)));
  }

  #beginWork(sandbox: VirtualSandbox, pod: V1Pod, containers: readonly VirtualContainer[]): void {
    const [first] = containers;
    if (first?.log === undefined) return;
    const { uid, namespace, name } = pod.metadata;
    const work = new VirtualPod(this.deps, {
      podText: `${namespace}/${name}`,
      task: { pod, containers: containers.map(taskContainer) },
      log: first.log,
      timeoutMs: this.options.timeoutMs,
      onChanged: () => {
        const { outcome } = work;
        if (outcome !== undefined) for (const container of containers) this.#end(container, outcome);
        this.deps.onChanged(uid);
      },
    });
    sandbox.work = work;
  }

  #end(
    container: VirtualContainer,
    { exitCode, reason, message }: { readonly exitCode: number; readonly reason: string; readonly message: string },
  ): void {
    if (container.state === "exited") return;
    container.log?.close();
    Object.assign(container, { state: "exited", finishedAt: this.#nowNs(), exitCode, reason, message });
  }

  #newId(): string {
    return this.deps.random.bytes(ID_BYTES).toString("hex");
  }

  /** Strictly increasing, because the kubelet sorts by it. */
  #nowNs(): bigint {
    const now = BigInt(this.deps.clock.now()) * NS_PER_MS;
    this.#lastNs = now > this.#lastNs ? now : this.#lastNs + 1n;
    return this.#lastNs;
  }
}

function taskContainer({ config }: VirtualContainer): TaskContainer {
  const { command, args, workingDir, envs, mounts } = config;
  return {
    name: config.metadata?.name ?? "",
    image: config.image?.image ?? "",
    command,
    args,
    workingDir,
    env: Object.fromEntries(envs.map(({ key, value }) => [key, value])),
    mounts: mounts.map(({ containerPath, hostPath, readonly }) => ({ containerPath, hostPath, readonly })),
  };
}
