import type { KillOptions, RemoteControl, RuntimeSnapshot } from "../../../cluster/runtime/control/control.js";
import type { DiskFault, Fault, Faults, RpcName } from "../../../cluster/runtime/control/faults.js";
import type { PullFault } from "../../../cluster/runtime/images/pull-fault.js";
import type { ConditionType } from "../../../cluster/runtime/state/core.js";
import { RpcError, type RpcResult } from "../../../staging/cri/grpc/status.js";
import { CONTAINER_NAME_LABEL, POD_NAME_LABEL } from "../../../staging/cri/labels.js";
import { ContainerState, PodSandboxState } from "../../../staging/cri/messages/enums.js";
import type { CriClient } from "../../../staging/cri/remote/create-cri-client.js";
import type { Clock } from "../../../util/clock.js";
import { LabError } from "../../../util/errors.js";
import type { RuntimeAnswers } from "./runtime-answers.js";

const MAX_REMOVALS = 10;
const REMOVAL_PAUSE_MS = 1_000;
const STATES = {
  [ContainerState.CONTAINER_CREATED]: "created",
  [ContainerState.CONTAINER_RUNNING]: "running",
} as const;

/** The control of a real runtime behind a proxy: faults of calls in the proxy, and calls behind the kubelet's back. */
export class ProxiedControl implements RemoteControl {
  private constructor(
    readonly client: CriClient,
    readonly faults: Faults,
    readonly answers: RuntimeAnswers,
    /** the sandboxes that others made */
    readonly foreign: ReadonlySet<string>,
    readonly signal: AbortSignal,
  ) {}

  static async open(
    client: CriClient,
    faults: Faults,
    answers: RuntimeAnswers,
    signal: AbortSignal,
  ): Promise<ProxiedControl> {
    const sandboxes = okOf(await client.runtime.listPodSandbox(undefined, signal));
    return new ProxiedControl(client, faults, answers, new Set(sandboxes.map(({ id }) => id)), signal);
  }

  /** Removes the sandboxes of the scenario. What still cannot be removed after some tries stays. */
  async removeNew(clock: Clock): Promise<void> {
    const { runtime } = this.client;
    const over = new AbortController().signal;
    for (let attempt = 1; attempt <= MAX_REMOVALS; attempt++) {
      const listed = await runtime.listPodSandbox(undefined, over);
      const own = listed.outcome === "ok" ? listed.value.filter(({ id }) => !this.foreign.has(id)) : [];
      if (own.length === 0) return;
      // A container that is just starting cannot be removed.
      if (attempt > 1) await clock.sleep(REMOVAL_PAUSE_MS);
      for (const { id } of own) {
        await runtime.stopPodSandbox(id, over);
        await runtime.removePodSandbox(id, over);
      }
    }
  }

  async snapshot(): Promise<RuntimeSnapshot> {
    const { runtime } = this.client;
    const containers = okOf(await runtime.listContainers(undefined, this.signal));
    const sandboxes = okOf(await runtime.listPodSandbox(undefined, this.signal));
    return {
      sandboxes: sandboxes.map(({ id, metadata, labels, state }) => ({
        sandboxId: id,
        podUid: metadata?.uid ?? "",
        name: labels[POD_NAME_LABEL] ?? metadata?.name ?? "",
        namespace: metadata?.namespace ?? "",
        attempt: metadata?.attempt ?? 0,
        state: state === PodSandboxState.SANDBOX_READY ? "ready" : "not-ready",
        containers: containers
          .filter(({ podSandboxId }) => podSandboxId === id)
          .map((one) => ({
            containerId: one.id,
            name: one.labels[CONTAINER_NAME_LABEL] ?? "",
            attempt: one.metadata?.attempt ?? 0,
            image: one.image?.image ?? "",
            state: STATES[one.state as keyof typeof STATES] ?? "exited",
          })),
      })),
      images: [],
      faults: Object.fromEntries(this.faults.list()),
      conditions: {
        RuntimeReady: !this.answers.conditions.has("RuntimeReady"),
        NetworkReady: !this.answers.conditions.has("NetworkReady"),
      },
      eventsDropped: 0,
      dropsEvents: this.answers.dropped !== undefined,
      pulls: { ms: 0, faults: [...this.answers.pulls].map(([image, how]) => ({ image, how })) },
    };
  }

  setFault(rpc: RpcName, fault: Fault | undefined): void {
    this.faults.set(rpc, fault);
  }

  clearFaults(): void {
    this.faults.clear();
  }

  dropEvents(what: boolean | number): void {
    this.answers.dropped = countOf(what);
  }

  repeatEvents(what: boolean | number): void {
    this.answers.repeated = countOf(what);
  }

  setDisk(disk: DiskFault): void {
    this.faults.setDisk(disk);
  }

  setDown(isDown: boolean): void {
    this.faults.setDown(isDown);
  }

  setCondition(type: ConditionType, message: string | undefined): void {
    if (message === undefined) this.answers.conditions.delete(type);
    else this.answers.conditions.set(type, message);
  }

  setPullFault(image: string, how: PullFault["how"] | undefined): void {
    if (how === undefined) this.answers.pulls.delete(image);
    else this.answers.pulls.set(image, how);
  }

  /** With SIGKILL: the CRI has no other way. */
  async killContainer(containerId: string, options: KillOptions = {}): Promise<void> {
    if (options.exitCode !== undefined || options.oom === true || options.signal !== undefined) embeddedOnly();
    okOf(await this.client.runtime.stopContainer(containerId, 0, this.signal));
  }

  async removeContainer(containerId: string): Promise<void> {
    okOf(await this.client.runtime.stopContainer(containerId, 0, this.signal));
    okOf(await this.client.runtime.removeContainer(containerId, this.signal));
  }

  async setSandboxNotReady(sandboxId: string): Promise<void> {
    okOf(await this.client.runtime.stopPodSandbox(sandboxId, this.signal));
  }

  async removeSandbox(sandboxId: string): Promise<void> {
    okOf(await this.client.runtime.removePodSandbox(sandboxId, this.signal));
  }

  readonly changes = embeddedOnly;
  readonly runPod = embeddedOnly;
  readonly runContainer = embeddedOnly;
  readonly startContainer = embeddedOnly;
  readonly runAgain = embeddedOnly;
  readonly loadContainer = embeddedOnly;
  readonly breakEventStreams = embeddedOnly;
  readonly restoreRules = embeddedOnly;
  readonly rules = embeddedOnly;
  readonly setNetworkCut = embeddedOnly;
  readonly setPullTime = embeddedOnly;
  readonly resetPulls = embeddedOnly;
}

function embeddedOnly(): never {
  throw new LabError("USAGE", "a real runtime cannot do this", "Run the scenario without --cri.");
}

function okOf<T>(result: RpcResult<T>): T {
  if (result.outcome === "ok") return result.value;
  throw new RpcError(result.code, result.message);
}

function countOf(what: boolean | number): number | undefined {
  if (what === false || what === 0) return undefined;
  return what === true ? Number.POSITIVE_INFINITY : what;
}
