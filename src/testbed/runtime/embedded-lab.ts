import myngx from "../../../fixtures/pleg/myngx.json" with { type: "json" };
import mypod from "../../../fixtures/pleg/mypod.json" with { type: "json" };
import type {
  ContainerSnapshot,
  PodSeed,
  RemoteControl,
  SandboxSnapshot,
} from "../../cluster/runtime/control/control.js";
import { type HostedRuntime, type HostOptions, hostRuntime } from "../../cluster/runtime/host/host.js";
import { RpcError } from "../../staging/cri/grpc/status.js";
import { LabError } from "../../util/errors.js";
import { nearest } from "../../util/text/nearest.js";
import { FaultSwitches } from "./fault-switches.js";
import type { LabAction, LabRuntime, LabTarget } from "./lab-runtime.js";
import { labTargets } from "./lab-targets.js";

/** The lab's two initial pods. */
const LAB_PODS: readonly PodSeed[] = [mypod, myngx];

/** What can be done to one container or sandbox. */
const TARGET_ACTIONS: readonly LabAction[] = [
  { id: "exit", key: "x", label: "let it end well (exit code 0)", short: "exit 0", on: "container" },
  { id: "fail", key: "f", label: "let it fail (exit code 1)", short: "exit 1", on: "container" },
  { id: "kill", key: "k", label: "kill it (SIGKILL, exit code 137)", short: "kill", on: "container" },
  { id: "oom", key: "o", label: "let it run out of memory (OOMKilled)", short: "OOM", on: "container" },
  { id: "start", key: "s", label: "start it again, as a new container", short: "start", on: "container" },
  { id: "remove", key: "r", label: "remove it behind the kubelet's back", short: "remove", on: "container" },
  { id: "not-ready", key: "n", label: "make it not ready (its own process dies)", short: "not ready", on: "sandbox" },
  { id: "remove-sandbox", key: "r", label: "remove it with its containers", short: "remove", on: "sandbox" },
];
const BRING_BACK: LabAction = {
  id: "bring-back",
  key: "b",
  label: "add mypod and myngx if they are gone",
  short: "bring pods back",
  on: "runtime",
};

/** Starts the embedded runtime with the lab's pods in it. PLEG knows only its endpoint; changes here happen behind its back. */
export async function startLabRuntime(options: Pick<HostOptions, "clock" | "trace">): Promise<LabRuntime> {
  const runtime = await hostRuntime(options);
  for (const pod of LAB_PODS) await runtime.control.runPod(pod);
  return new EmbeddedLab(runtime);
}

/** A container's name and attempt are taken while an older one exists in a sandbox that is no longer ready. */
function attemptAfter(sandboxes: readonly SandboxSnapshot[], podUid: string, name: string): number {
  const containers = sandboxes.filter((one) => one.podUid === podUid).flatMap((one) => one.containers);
  return Math.max(-1, ...containers.filter((one) => one.name === name).map(({ attempt }) => attempt)) + 1;
}

/** The actions of keys, page and POSTs on an embedded runtime. */
export class EmbeddedLab implements LabRuntime {
  readonly endpoint: string;
  readonly actions: readonly LabAction[];
  readonly #control: RemoteControl;
  readonly #switches: FaultSwitches;
  /** so that a pod that comes back has the next attempt */
  readonly #attempts = new Map<string, number>();

  constructor(readonly runtime: HostedRuntime) {
    this.endpoint = runtime.endpoint;
    this.#control = runtime.control;
    this.#switches = new FaultSwitches(runtime.control);
    this.actions = [...TARGET_ACTIONS, BRING_BACK, ...this.#switches.actions];
  }

  targets(): Promise<readonly LabTarget[]> {
    return labTargets(this.#control);
  }

  faults(): readonly string[] {
    return this.#switches.on();
  }

  async act(actionId: string, targetId: string | undefined): Promise<string> {
    const action = this.actions.find(({ id }) => id === actionId);
    if (action === undefined) {
      const known = this.actions.map(({ id }) => id);
      const like = nearest(known, actionId);
      const asked = `there is no action ${JSON.stringify(actionId)}${like === undefined ? "" : `: did you mean ${like}?`}`;
      throw new LabError("USAGE", asked, `There are ${known.join(", ")}.`);
    }
    try {
      if (action.on === "runtime" && targetId !== undefined) {
        const message = `${actionId} is done to the whole runtime, and was given the target ${JSON.stringify(targetId)}`;
        throw new LabError("USAGE", message, "Leave out the target.");
      }
      if (action.on === "runtime") {
        return await (action === BRING_BACK ? this.#bringBack() : this.#switches.turn(actionId));
      }
      return await this.#actOn(action, await this.#target(action, targetId));
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      throw new LabError("USAGE", `the runtime says: ${error.message}`, "Look at its state: GET /state, or any key.");
    }
  }

  async #target({ on, label }: LabAction, targetId: string | undefined): Promise<LabTarget> {
    const candidates = (await this.targets()).filter(({ kind }) => kind === on);
    // Finds it by its ID, or by a prefix of that, its name or its pod's, for typing. The newest match wins.
    const meant =
      (wanted: string) =>
      ({ id, name, pod }: LabTarget) =>
        id.startsWith(wanted) || name === wanted || pod === wanted || pod.endsWith(`/${wanted}`);
    const found =
      candidates.find(({ id }) => id === targetId) ??
      (targetId === undefined || targetId === "" ? undefined : candidates.filter(meant(targetId)).at(-1));
    if (found !== undefined) return found;
    const known = candidates.map(({ id, pod, name }) => `${id} (${pod} ${name})`).join(", ");
    throw new LabError(
      "USAGE",
      targetId === undefined
        ? `which ${on}? A target is missing: ${label}`
        : `there is no ${on} ${JSON.stringify(targetId)}: ${label}`,
      known === "" ? `There is no ${on} left.` : `Name one of: ${known}.`,
    );
  }

  async #actOn({ id: actionId }: LabAction, { id, pod, name }: LabTarget): Promise<string> {
    const control = this.#control;
    switch (actionId) {
      case "exit":
        await control.killContainer(id, { exitCode: 0 });
        return `${pod} ${name} has ended with 0`;
      case "fail":
        await control.killContainer(id, { exitCode: 1 });
        return `${pod} ${name} has failed with 1`;
      case "kill":
        await control.killContainer(id);
        return `${pod} ${name} has been killed`;
      case "oom":
        await control.killContainer(id, { oom: true });
        return `${pod} ${name} has run out of memory`;
      case "start":
        return `${pod} ${name}: ${await this.#startAgain(id)}`;
      case "remove":
        await control.removeContainer(id);
        return `${pod} ${name} has been removed`;
      case "not-ready":
        await control.setSandboxNotReady(id);
        return `${pod}: its sandbox is not ready any more`;
      default:
        await control.removeSandbox(id);
        return `${pod}: its sandbox has been removed, with its containers`;
    }
  }

  async #startAgain(containerId: string): Promise<string> {
    const container = await this.#find(containerId);
    if (container.state === "created") {
      await this.#control.startContainer(containerId);
      return "started";
    }
    if (container.state === "running") return "runs already";
    const { containerId: made, attempt } = await this.#control.runAgain(containerId);
    return `a new container ${made.slice(0, 13)} has been started, attempt ${attempt}`;
  }

  async #find(containerId: string): Promise<ContainerSnapshot> {
    const { sandboxes } = await this.#control.snapshot();
    const all = sandboxes.flatMap(({ containers }) => containers);
    const container = all.find((one) => one.containerId === containerId);
    if (container === undefined) throw new RpcError("NotFound", `there is no container ${containerId}`);
    return container;
  }

  /** Pods without a ready sandbox get a new one. */
  async #bringBack(): Promise<string> {
    const { sandboxes } = await this.#control.snapshot();
    const missing = LAB_PODS.filter(({ uid }) => !sandboxes.some((one) => one.podUid === uid && one.state === "ready"));
    for (const pod of missing) {
      const attempt = (this.#attempts.get(pod.uid) ?? 0) + 1;
      this.#attempts.set(pod.uid, attempt);
      const containers = pod.containers.map(({ id: _id, ...container }) => {
        return { ...container, attempt: attemptAfter(sandboxes, pod.uid, container.name) };
      });
      const { sandboxId: _sandboxId, ...rest } = pod;
      await this.#control.runPod({ ...rest, attempt, containers });
    }
    if (missing.length === 0) return "no pod is missing";
    return `${missing.map(({ name }) => name).join(" and ")}: a new sandbox, and new containers in it`;
  }

  close(): Promise<void> {
    return this.runtime.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
