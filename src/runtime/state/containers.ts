import type { ContainerConfig } from "../../cri/messages/container.js";
import { Signal } from "../../cri/messages/enums.js";
import type { PodSandboxConfig } from "../../cri/messages/sandbox.js";
import { RpcError } from "../../cri/status.js";
import { FsError } from "../../shell/fs/fs-error.js";
import { SpawnError } from "../../shell/process/machine.js";
import { parseSignal, SIGKILL, SIGTERM } from "../../shell/process/signals.js";
import { containerLogPath } from "../logs/log-path.js";
import { Container, containerName, exitReason } from "./container.js";
import type { RuntimeCore } from "./core.js";
import { invalid, nameTaken, wrongState } from "./errors.js";
import type { EventName } from "./events.js";
import { newId } from "./ids.js";
import { RunningContainer } from "./running.js";
import type { Sandbox } from "./sandbox.js";
import { containerEvent, containerItem, phaseText } from "./status.js";

/** containerd's errorStartExitCode */
const START_ERROR_EXIT_CODE = 128;

/** `CONTAINER_RUNNING`, as containerd's texts name states. */
function stateName({ phase }: Container): string {
  return `CONTAINER_${phase.state.toUpperCase()}`;
}

/** What containers do. Mirrors containerd's container_create.go, container_start.go, container_stop.go, container_remove.go. */
export class Containers {
  constructor(readonly core: RuntimeCore) {}

  /**
   * Makes a container that does not run yet, of an image that is here.
   * @param id a fixture's; others are made up
   * @throws RpcError FailedPrecondition, InvalidArgument, NotFound (the image), AlreadyExists
   */
  create(
    sandbox: Sandbox,
    config: ContainerConfig | undefined,
    sandboxConfig: PodSandboxConfig | undefined,
    id?: string,
  ): Container {
    const { core } = this;
    const metadata = config?.metadata;
    if (config === undefined || metadata === undefined) throw invalid("container config must include metadata");
    if (sandbox.state !== "ready") throw wrongState(`sandbox "${sandbox.sandboxId}" is not running`);
    const wanted = config.image?.image ?? "";
    const image = core.images.find(wanted);
    if (image === undefined) throw new RpcError("NotFound", `failed to resolve image "${wanted}": not found`);
    const logDirectory = sandboxConfig?.logDirectory || sandbox.config.logDirectory;
    const logPath = containerLogPath(logDirectory, config.logPath);
    for (const { containerPath } of config.mounts) {
      if (containerPath.replace(/[/.]/g, "") === "") throw invalid(`cannot mount at "${containerPath}"`);
    }
    const containerId = id ?? newId(core.random, (taken) => core.containers.has(taken) || core.sandboxes.has(taken));
    if (core.containers.has(containerId)) throw new RpcError("AlreadyExists", `container "${containerId}" exists`);
    const name = containerName(metadata, sandbox.metadata);
    const owner = core.containerNames.reserve(name, containerId);
    if (owner !== undefined) throw nameTaken("container", name, owner);
    const createdAt = core.time.now();
    const container = new Container(containerId, name, sandbox, config, metadata, image, logPath, createdAt);
    core.containers.add(containerId, container);
    sandbox.containers.add(container);
    containerItem(container);
    core.version++;
    core.changes.container(container, "none", "created");
    this.#publish("CONTAINER_CREATED_EVENT", container);
    return container;
  }

  /**
   * Starts a container that was created. One whose command cannot be started has exited, with 128 and StartError.
   * @throws RpcError FailedPrecondition in any other state; Unknown when it does not start
   */
  start(container: Container): void {
    const { core } = this;
    const { containerId, sandbox } = container;
    const failed = `failed to set starting state for container "${containerId}"`;
    if (container.phase.state !== "created") {
      throw wrongState(`${failed}: container is in ${stateName(container)} state`);
    }
    if (container.isRemoving) throw wrongState(`${failed}: container is in removing state, can't be started`);
    if (sandbox.state !== "ready") {
      const error = wrongState(`sandbox container "${sandbox.sandboxId}" is not running`);
      this.#failStart(container, error.message);
      throw error;
    }
    const now = () => core.time.now();
    let running: RunningContainer;
    try {
      running = new RunningContainer(container, { ...core.specDeps, now });
    } catch (error) {
      const message = startErrorText(error);
      this.#failStart(container, message);
      throw error instanceof RpcError ? error : new RpcError("Unknown", message, { cause: error });
    }
    container.running = running;
    this.#become(container, { state: "running", startedAt: core.time.now() });
    this.#publish("CONTAINER_STARTED_EVENT", container);
    void this.#follow(container, running);
  }

  #failStart(container: Container, message: string): void {
    const finishedAt = this.core.time.now();
    const exitCode = START_ERROR_EXIT_CODE;
    this.#become(container, { state: "exited", startedAt: 0n, finishedAt, exitCode, reason: "StartError", message });
    // No CONTAINER_STOPPED_EVENT: containerd sends one only for a process that has ended.
  }

  async #follow(container: Container, running: RunningContainer): Promise<void> {
    const { exitCode, isOutOfMemory } = await running.ended();
    if (container.phase.state !== "running") return;
    this.#become(container, {
      state: "exited",
      startedAt: container.phase.startedAt,
      finishedAt: this.core.time.now(),
      exitCode,
      reason: exitReason(exitCode, isOutOfMemory),
      message: "",
    });
    // Removed behind our back while it ran: nothing is left to tell of.
    if (this.core.containers.has(container.containerId)) this.#publish("CONTAINER_STOPPED_EVENT", container);
  }

  #become(container: Container, phase: Container["phase"]): void {
    const from = phaseText(container.phase);
    container.become(phase);
    // Encoded now, a little at a time, and not when a list of ten thousand is asked for.
    containerItem(container);
    this.core.version++;
    this.core.changes.container(container, from, phaseText(phase));
  }

  /**
   * Stops a container: its stop signal, and SIGKILL when it still runs after the timeout. One that does not run is left as
   * it is.
   * @param timeoutMs 0: SIGKILL at once
   * @throws the signal's reason; the container may go on running then, as containerd's does
   */
  async stop(container: Container, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { running } = container;
    if (!container.isRunning || running === undefined) return;
    if (timeoutMs > 0) {
      if (!container.isStopSignaled) {
        container.isStopSignaled = true;
        running.signal(stopSignal(container));
      }
      const timer = new AbortController();
      const either = AbortSignal.any([timer.signal, signal]);
      const timedOut = this.core.clock.sleep(timeoutMs, either).catch(() => {});
      await Promise.race([container.stopped(), timedOut]);
      timer.abort();
      if (!container.isRunning) return;
      signal.throwIfAborted();
    }
    running.signal(SIGKILL);
    await container.stopped();
  }

  /** Removes a container; one that runs is killed first. @throws RpcError FailedPrecondition while another call removes it */
  async remove(container: Container, signal: AbortSignal): Promise<void> {
    const { core } = this;
    await this.stop(container, 0, signal);
    if (!core.containers.has(container.containerId)) return;
    if (container.isRemoving) {
      throw wrongState(
        `failed to set removing state for container "${container.containerId}": container is already in removing state`,
      );
    }
    this.discard(container);
  }

  /** Takes a container out of the books at once, whatever its state. */
  discard(container: Container): void {
    const { core } = this;
    container.isRemoving = true;
    core.containers.delete(container.containerId);
    core.containerNames.release(container.name);
    container.sandbox.containers.delete(container);
    container.running?.signal(SIGKILL);
    container.running = undefined;
    core.version++;
    core.changes.container(container, phaseText(container.phase), "gone");
    this.#publish("CONTAINER_DELETED_EVENT", container);
  }

  /** @throws RpcError FailedPrecondition when it does not run */
  running(container: Container): RunningContainer {
    if (container.isRunning && container.running !== undefined) return container.running;
    throw wrongState(`container is in ${stateName(container)} state`);
  }

  #publish(name: EventName, container: Container): void {
    const { core } = this;
    const { containerId, sandbox } = container;
    core.events.publish(() => containerEvent(name, containerId, sandbox, core.images, core.time.now()));
  }
}

const SIGNAL_NAME_OF = new Map<number, string>(Object.entries(Signal).map(([name, value]) => [value, name]));

/** The container's own stop signal, else its image's, else SIGTERM. */
function stopSignal({ config, image }: Container): number {
  const wanted = SIGNAL_NAME_OF.get(config.stopSignal)?.replace("PLUS", "+").replace("MINUS", "-");
  return parseSignal(wanted ?? "") ?? parseSignal(image.definition.stopSignal) ?? SIGTERM;
}

/** runc's texts for what cannot be started. */
function startErrorText(error: unknown): string {
  const start = "failed to create containerd task: failed to create shim task: OCI runtime create failed";
  if (error instanceof SpawnError) {
    return `${start}: unable to start container process: exec: "${error.command}": ${error.reason}: unknown`;
  }
  if (error instanceof FsError)
    return `${start}: error mounting "${error.path}" to rootfs: ${error.text.toLowerCase()}: unknown`;
  return error instanceof Error ? error.message : String(error);
}
