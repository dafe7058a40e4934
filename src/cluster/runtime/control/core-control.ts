import {
  CONTAINER_NAME_LABEL,
  POD_NAME_LABEL,
  POD_NAMESPACE_LABEL,
  POD_UID_LABEL,
} from "../../../staging/cri/labels.js";
import { ContainerConfig } from "../../../staging/cri/messages/container.js";
import { PodSandboxConfig } from "../../../staging/cri/messages/sandbox.js";
import { currentScope } from "../../../trace/scope.js";
import type { RuleTable } from "../../netfilter/rules.js";
import { parseSignal, SIGKILL } from "../../shell/process/signals.js";
import { invalid, wrongState } from "../errors.js";
import type { PullFault } from "../images/pull-fault.js";
import { parseReference } from "../images/reference.js";
import type { NetworkCut } from "../network/network-cut.js";
import type { RuntimeChange } from "../state/changes.js";
import type { Sandbox } from "../state/container.js";
import type { LoadSettings } from "../state/container-load.js";
import type { Containers } from "../state/containers.js";
import type { ConditionType, RuntimeCore } from "../state/core.js";
import type { Sandboxes } from "../state/sandboxes.js";
import type { Streams } from "../streaming/streams.js";
import type { ContainerSeed, KillOptions, PodSeed, RuntimeControl, RuntimeSnapshot } from "./control.js";
import type { DiskFault, Fault, Faults, RpcName } from "./faults.js";
import { checkPodSeed } from "./seed-check.js";
import { sandboxSnapshot } from "./snapshot.js";

const MAX_ATTEMPT = 2 ** 32 - 1;

/** The control of a runtime in this process. */
export class CoreControl implements RuntimeControl {
  readonly #never = new AbortController().signal;

  constructor(
    readonly core: RuntimeCore,
    readonly sandboxes: Sandboxes,
    readonly containers: Containers,
    readonly streams: Streams,
    readonly faults: Faults,
  ) {}

  snapshot(): RuntimeSnapshot {
    const { core } = this;
    return {
      sandboxes: Array.from(core.sandboxes.values(), sandboxSnapshot),
      images: core.images.list().flatMap(({ repoTags }) => repoTags),
      faults: Object.fromEntries(this.faults.list()),
      conditions: {
        RuntimeReady: core.conditions.RuntimeReady.isTrue,
        NetworkReady: core.conditions.NetworkReady.isTrue,
      },
      eventsDropped: core.events.droppedCount,
      dropsEvents: core.events.drop !== undefined,
      pulls: { ms: core.puller.options.pullMs, faults: [...core.puller.faults.values()] },
    };
  }

  changes(signal: AbortSignal): AsyncGenerator<RuntimeChange> {
    return this.core.changes.watch(signal);
  }

  runPod(pod: PodSeed): { readonly sandboxId: string; readonly containerIds: readonly string[] } {
    checkPodSeed(this.core, pod);
    const { name, namespace, uid, attempt = 0, annotations = {} } = pod;
    const labels = {
      ...pod.labels,
      [POD_NAME_LABEL]: name,
      [POD_NAMESPACE_LABEL]: namespace,
      [POD_UID_LABEL]: uid,
    };
    const config = PodSandboxConfig.create({
      metadata: { name, namespace, uid, attempt },
      hostname: pod.hostname ?? name,
      logDirectory: pod.logDirectory ?? "",
      labels,
      annotations,
    });
    const sandbox = this.sandboxes.run(config, "", pod.sandboxId);
    const containerIds = this.#allOrNothing(
      () => pod.containers.map((container) => this.#runContainer(sandbox, container)),
      () => this.sandboxes.discard(sandbox),
    );
    return { sandboxId: sandbox.sandboxId, containerIds };
  }

  /** Runs `body`, or undoes its effects if it fails, including images that it added. */
  #allOrNothing<T>(body: () => T, undo: () => void): T {
    const { images } = this.core;
    const before = new Set(images.list().map(({ imageId }) => imageId));
    try {
      return body();
    } catch (error) {
      undo();
      for (const image of images.list()) if (!before.has(image.imageId)) images.remove(image);
      throw error;
    }
  }

  runContainer(sandboxId: string, container: ContainerSeed): string {
    const sandbox = this.core.sandbox(sandboxId);
    const before = new Set(sandbox.containers);
    return this.#allOrNothing(
      () => this.#runContainer(sandbox, container),
      () => {
        for (const one of sandbox.containers) if (!before.has(one)) this.containers.discard(one);
      },
    );
  }

  #runContainer(sandbox: Sandbox, seed: ContainerSeed): string {
    const { core } = this;
    const image = core.images.find(seed.image) ?? core.images.add(parseReference(seed.image));
    const config = ContainerConfig.create({
      metadata: { name: seed.name, attempt: seed.attempt ?? 0 },
      image: { image: image.imageId, userSpecifiedImage: seed.image },
      command: seed.command ?? [],
      args: seed.args ?? [],
      envs: Object.entries(seed.env ?? {}).map(([key, value]) => ({ key, value })),
      labels: { ...sandbox.config.labels, [CONTAINER_NAME_LABEL]: seed.name },
      annotations: seed.annotations ?? {},
      logPath: seed.logPath ?? "",
    });
    const container = this.containers.create(sandbox, config, undefined, seed.id);
    if (seed.state !== "created") this.containers.start(container);
    return container.containerId;
  }

  startContainer(containerId: string): void {
    this.containers.start(this.core.container(containerId));
  }

  runAgain(containerId: string): { readonly containerId: string; readonly attempt: number } {
    const { sandbox, metadata, config } = this.core.container(containerId);
    const attempts = [...sandbox.containers]
      .filter(({ metadata: { name } }) => name === metadata.name)
      .map((one) => one.metadata.attempt);
    const attempt = Math.max(...attempts) + 1;
    if (attempt > MAX_ATTEMPT) throw wrongState(`there is no attempt after ${MAX_ATTEMPT}`);
    const container = this.containers.create(
      sandbox,
      { ...config, metadata: { ...metadata, attempt } },
      undefined,
      undefined,
    );
    this.#allOrNothing(
      () => this.containers.start(container),
      () => this.containers.discard(container),
    );
    return { containerId: container.containerId, attempt };
  }

  async killContainer(containerId: string, options: KillOptions = {}): Promise<void> {
    const container = this.core.container(containerId);
    const running = this.containers.running(container);
    container.endedBy = currentScope();
    if (options.oom === true) running.killOutOfMemory();
    else if (options.exitCode !== undefined) running.endAs({ kind: "exited", code: options.exitCode & 0xff });
    else {
      const signal = options.signal === undefined ? SIGKILL : parseSignal(options.signal);
      if (signal === undefined) throw invalid(`there is no signal ${options.signal}`);
      running.signal(signal);
      if (signal !== SIGKILL) return; // the process can ignore it, or take time
    }
    await container.stopped();
  }

  loadContainer(containerId: string, load: Partial<LoadSettings>): void {
    this.containers.running(this.core.container(containerId)).load.set(load);
  }

  setSandboxNotReady(sandboxId: string): void {
    const sandbox = this.core.sandbox(sandboxId);
    if (sandbox.state === "not-ready") throw wrongState(`sandbox "${sandboxId}" is already not ready`);
    this.sandboxes.becomeNotReady(sandbox);
  }

  removeContainer(containerId: string, silently = false): Promise<void> {
    return this.#maybeSilently(silently, () => this.containers.remove(this.core.container(containerId), this.#never));
  }

  removeSandbox(sandboxId: string, silently = false): Promise<void> {
    return this.#maybeSilently(silently, () => this.sandboxes.remove(this.core.sandbox(sandboxId), this.#never));
  }

  async #maybeSilently(silently: boolean, body: () => Promise<void>): Promise<void> {
    const { events } = this.core;
    const before = events.drop;
    if (silently) events.drop = { left: undefined };
    try {
      await body();
    } finally {
      if (silently) events.drop = before;
    }
  }

  setFault(rpc: RpcName, fault: Fault | undefined): void {
    this.faults.set(rpc, fault);
  }

  clearFaults(): void {
    this.faults.clear();
  }

  dropEvents(what: boolean | number): void {
    const { events } = this.core;
    if (what === false || what === 0) events.drop = undefined;
    else events.drop = { left: what === true ? undefined : what };
  }

  repeatEvents(what: boolean | number): void {
    this.core.events.repeat = what === false || what === 0 ? undefined : { left: what === true ? undefined : what };
  }

  setDisk(disk: DiskFault): void {
    this.faults.setDisk(disk);
  }

  setDown(isDown: boolean): void {
    this.faults.setDown(isDown);
    if (!isDown) return;
    this.core.events.close();
    this.streams.cut();
  }

  setNetworkCut(cut: NetworkCut | undefined): void {
    this.core.network.setCut(cut);
  }

  breakEventStreams(): void {
    this.core.events.close();
  }

  restoreRules(table: RuleTable): void {
    this.core.network.restore(table);
  }

  rules(): RuleTable {
    return this.core.network.nat.table;
  }

  setCondition(type: ConditionType, message: string | undefined): void {
    const { conditions, changes } = this.core;
    const before = conditions[type].isTrue;
    conditions[type] =
      message === undefined
        ? { isTrue: true, reason: "", message: "" }
        : { isTrue: false, reason: type === "NetworkReady" ? "NetworkPluginNotReady" : "RuntimeNotReady", message };
    if (before !== (message === undefined)) changes.condition(type, String(before), String(!before));
  }

  setPullFault(image: string, how: PullFault["how"] | undefined): void {
    const { faults } = this.core.puller;
    if (how === undefined) faults.delete(image);
    else faults.set(image, { image, how });
  }

  setPullTime(ms: number): void {
    this.core.puller.options = { ...this.core.options, pullMs: ms };
  }

  resetPulls(): void {
    const { puller, options } = this.core;
    puller.faults.clear();
    puller.options = options;
  }
}
