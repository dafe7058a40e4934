import { NamespaceMode } from "../../cri/messages/enums.js";
import type { PodSandboxConfig } from "../../cri/messages/sandbox.js";
import { RpcError } from "../../cri/status.js";
import { Ports } from "../../shell/process/ports.js";
import type { Containers } from "./containers.js";
import type { RuntimeCore } from "./core.js";
import { invalid, nameTaken } from "./errors.js";
import type { EventName } from "./events.js";
import { newId } from "./ids.js";
import { Sandbox, sandboxName } from "./sandbox.js";
import { containerEvent, sandboxItem } from "./status.js";

/** Handlers that a RuntimeClass may name; "" is the default. */
export const RUNTIME_HANDLERS = ["", "kubelab"] as const;

/** What sandboxes do. Mirrors containerd's sandbox_run.go, sandbox_stop.go, sandbox_remove.go. */
export class Sandboxes {
  constructor(
    readonly core: RuntimeCore,
    readonly containers: Containers,
  ) {}

  /**
   * Makes a sandbox that is ready.
   * @param id a fixture's; others are made up
   * @throws RpcError InvalidArgument, AlreadyExists, FailedPrecondition
   */
  run(config: PodSandboxConfig | undefined, runtimeHandler: string, id?: string): Sandbox {
    const { core } = this;
    const metadata = config?.metadata;
    if (config === undefined || metadata === undefined) throw invalid("sandbox config must include metadata");
    if (!RUNTIME_HANDLERS.some((handler) => handler === runtimeHandler)) {
      throw invalid(`failed to get sandbox runtime: no runtime for "${runtimeHandler}" is configured`);
    }
    const sandboxId = id ?? newId(core.random, (taken) => core.sandboxes.has(taken) || core.containers.has(taken));
    if (core.sandboxes.has(sandboxId)) throw new RpcError("AlreadyExists", `sandbox "${sandboxId}" exists`);
    const name = sandboxName(metadata);
    const owner = core.sandboxNames.reserve(name, sandboxId);
    if (owner !== undefined) throw nameTaken("sandbox", name, owner);
    const usesHost = config.linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
    let ip: string | undefined;
    try {
      ip = usesHost ? undefined : this.#takeAddress(sandboxId);
    } catch (error) {
      core.sandboxNames.release(name);
      throw error;
    }
    const ports = usesHost ? core.hostPorts : new Ports();
    if (ip !== undefined) core.network.add(ip, ports);
    const createdAt = core.time.now();
    const sandbox = new Sandbox(sandboxId, name, config, metadata, runtimeHandler, createdAt, ip, ports);
    core.sandboxes.add(sandboxId, sandbox);
    sandboxItem(sandbox);
    core.version++;
    core.changes.sandbox(sandbox, "none", "ready");
    this.#publish("CONTAINER_CREATED_EVENT", sandbox);
    this.#publish("CONTAINER_STARTED_EVENT", sandbox);
    return sandbox;
  }

  #takeAddress(sandboxId: string): string {
    const { conditions, addresses } = this.core;
    const failed = `failed to setup network for sandbox "${sandboxId}"`;
    if (!conditions.NetworkReady.isTrue) throw new RpcError("Unknown", `${failed}: ${conditions.NetworkReady.message}`);
    const ip = addresses.take();
    if (ip === undefined) throw new RpcError("ResourceExhausted", `${failed}: no addresses left in the pod CIDR`);
    return ip;
  }

  /** Stops a sandbox and its containers at once. Stopped before: nothing happens. */
  async stop(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
    for (const container of [...sandbox.containers]) await this.containers.stop(container, 0, signal);
    this.becomeNotReady(sandbox);
  }

  /** Its own process has ended: the network is gone, its containers live on until somebody stops them. */
  becomeNotReady(sandbox: Sandbox): void {
    if (sandbox.state === "not-ready") return;
    sandbox.state = "not-ready";
    sandbox.encoded = undefined;
    this.#releaseAddress(sandbox);
    this.core.version++;
    this.core.changes.sandbox(sandbox, "ready", "not ready");
    this.#publish("CONTAINER_STOPPED_EVENT", sandbox);
  }

  #releaseAddress({ ip }: Sandbox): void {
    if (ip === undefined) return;
    this.core.network.delete(ip);
    this.core.addresses.free(ip);
  }

  /** Removes a sandbox and its containers, running or not. */
  async remove(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
    const { core } = this;
    await this.stop(sandbox, signal);
    for (const container of [...sandbox.containers]) await this.containers.remove(container, signal);
    // Two removals may have come here together: one of them is the first.
    if (core.sandboxes.has(sandbox.sandboxId)) this.discard(sandbox);
  }

  /** Takes a sandbox and its containers out of the books at once, whatever their state. */
  discard(sandbox: Sandbox): void {
    const { core } = this;
    for (const container of [...sandbox.containers]) this.containers.discard(container);
    this.becomeNotReady(sandbox);
    core.sandboxes.delete(sandbox.sandboxId);
    core.sandboxNames.release(sandbox.name);
    core.version++;
    core.changes.sandbox(sandbox, "not ready", "gone");
    this.#publish("CONTAINER_DELETED_EVENT", sandbox);
  }

  #publish(name: EventName, sandbox: Sandbox): void {
    const { core } = this;
    core.events.publish(() => containerEvent(name, sandbox.sandboxId, sandbox, core.images, core.time.now()));
  }
}
