import type { ServerFaults } from "../../../cluster/apiserver/endpoints/faults/server-faults.js";
import type { DnsFaults } from "../../../cluster/dns/dns-faults.js";
import type { ContainerSnapshot, RemoteControl, SandboxSnapshot } from "../../../cluster/runtime/control/control.js";
import { WRONG_ANSWERS } from "../../../cluster/runtime/control/faults.js";
import { PULL_FAULTS } from "../../../cluster/runtime/images/pull-fault.js";
import { NETWORK_CUTS } from "../../../cluster/runtime/network/network-cut.js";
import { diskBytes } from "../../../kubelet/nodestatus/resources.js";
import { DEFAULT_RESOURCES } from "../../../testbed/node/join-plan.js";
import type { Clock } from "../../../util/clock.js";
import { defined } from "../../../util/defined.js";
import { MessageError } from "../../../util/i18n/message-error.js";
import { GRPC_CODES, type GrpcCode } from "../../../util/net/grpc-codes.js";
import type { ApiServerPod } from "./api-server-pod.js";
import type { InjectionArguments } from "./environment.js";
import { number, oneOf, text } from "./injection-arguments.js";
import { CUTS } from "./node-link.js";
import type { LabMachine, LabNodes } from "./nodes.js";
import { embeddedFaults, isServerFault, setDnsFault, setServerFault } from "./server-injections.js";

/** The objects that injections change. */
export interface InjectionDeps {
  readonly clock: Clock;
  readonly nodes: LabNodes;
  /** undefined on a real cluster */
  readonly faults: ServerFaults | undefined;
  /** undefined on a real cluster */
  readonly dnsFaults: DnsFaults | undefined;
  /** undefined: its API server cannot be restarted */
  readonly apiServer: ApiServerPod | undefined;
  setSpeed(factor: number): Promise<void>;
}

const CONDITIONS = ["NetworkReady", "RuntimeReady"] as const;

/** Performs an injection; see `INJECTIONS`. @throws LabError USAGE for an unknown object; the control's RpcError */
export async function inject(
  { clock, nodes, faults, dnsFaults, apiServer, setSpeed }: InjectionDeps,
  name: string,
  args: InjectionArguments,
  signal: AbortSignal,
): Promise<void> {
  if (name === "time-passes") return clock.sleep(Number(args["minutes"]) * 60_000, signal);
  if (name === "speed") return setSpeed(Number(args["factor"]));
  if (name === "dns-fault") return setDnsFault(dnsFaults, args);
  if (isServerFault(name)) return setServerFault(faults, name, args);
  if (name === "apiserver-restart") {
    const seconds = number(args, "seconds");
    if (apiServer === undefined) throw new MessageError("USAGE", ["noApiServerPod"], ["noApiServerPodHint"]);
    return apiServer.restart(seconds === undefined ? undefined : seconds * 1000, signal);
  }
  const machine = nodes.machine(text(args, "node"));
  if (name === "node-start") return args["unattended"] === true ? machine.startUnattended() : machine.start();
  if (name === "node-stop") return args["power"] === true ? machine.powerOff() : machine.stop();
  if (name === "clock-skew")
    return machine.setClockOffset(
      (number(args, "seconds") ?? 0) * 1000,
      1 + (number(args, "gainsPerHour") ?? 0) / 3_600,
    );
  if (name === "certificate-expired")
    return setExpired(machine, embeddedFaults(faults, name), args["renewed"] !== true);
  if (name === "partition") return setPartition(machine, faults, args);
  await injectIntoRuntime(machine, name, args);
}

function setExpired({ name }: LabMachine, { expired }: ServerFaults, isExpired: boolean): void {
  const user = `system:node:${name}`;
  if (isExpired) expired.add(user);
  else expired.delete(user);
}

/** Cuts the node's link, and the way from the API server to its kubelet. @throws LabError USAGE for a node without a link */
function setPartition({ name, link }: LabMachine, faults: ServerFaults | undefined, args: InjectionArguments): void {
  if (link === undefined) throw new MessageError("USAGE", ["nodeHasNoLink", { node: name }], ["nodeHasNoLinkHint"]);
  const how = args["how"] === undefined ? undefined : oneOf(args, "how", CUTS);
  if (how === undefined) {
    faults?.partitions.delete(name);
    link.mend();
  } else {
    faults?.partitions.set(name, how);
    link.cut(how);
  }
}

async function injectIntoRuntime({ runtime }: LabMachine, name: string, args: InjectionArguments): Promise<void> {
  const { control } = runtime;
  switch (name) {
    case "runtime-condition":
      return control.setCondition(oneOf(args, "condition", CONDITIONS), text(args, "message"));
    case "runtime-fault":
      return setFault(control, args);
    case "kill-container": {
      const exitCode = number(args, "exitCode");
      const signal = text(args, "signal");
      const { containerId } = await containerOf(control, args, "running");
      return control.killContainer(containerId, {
        oom: args["oom"] === true,
        ...defined({ exitCode, signal }),
      });
    }
    case "remove-container": {
      const { containerId } = await containerOf(control, args, undefined);
      return control.removeContainer(containerId, args["silently"] === true);
    }
    case "disk-full":
      return fillDisk(control, args);
    case "sandbox-not-ready":
      return control.setSandboxNotReady((await sandboxOf(control, args)).sandboxId);
    case "pull-fault": {
      const how = args["how"] === undefined ? undefined : oneOf(args, "how", PULL_FAULTS);
      return control.setPullFault(text(args, "image") ?? "", how);
    }
    case "pull-time":
      return control.setPullTime(number(args, "ms") ?? 0);
    case "drop-events":
      return control.dropEvents(number(args, "count") ?? true);
    case "repeat-events":
      return control.repeatEvents(number(args, "count") ?? true);
    case "runtime-stop":
      return control.setDown(args["started"] !== true);
    case "disk-fault":
      return control.setDisk({
        isReadonly: args["readOnly"] === true,
        ...defined({ delayMs: number(args, "delayMs") }),
      });
    case "pod-network-fault": {
      const how = args["how"] === undefined ? undefined : oneOf(args, "how", NETWORK_CUTS);
      return control.setNetworkCut(defined({ how, delayMs: number(args, "delayMs") }));
    }
    default:
      throw new MessageError("USAGE", ["injectionUnknown", { name }], ["injectionUnknownHint"]);
  }
}

async function fillDisk(control: RemoteControl, args: InjectionArguments): Promise<void> {
  const fillBytes = number(args, "bytes") ?? diskBytes(DEFAULT_RESOURCES);
  const finding = containerOf(control, args, "running");
  // A container that was evicted meanwhile uses nothing any more.
  const found = await (fillBytes === 0 ? finding.catch(() => undefined) : finding);
  if (found !== undefined) await control.loadContainer(found.containerId, { fillBytes });
}

async function setFault(control: RemoteControl, args: InjectionArguments): Promise<void> {
  const { hangs } = args;
  const delayMs = number(args, "delayMs");
  const count = number(args, "count");
  const code = args["code"] === undefined ? undefined : oneOf<GrpcCode>(args, "code", GRPC_CODES);
  const message = text(args, "message") ?? "made to fail by the lab";
  const answer = args["answer"] === undefined ? undefined : oneOf(args, "answer", WRONG_ANSWERS);
  const isFault = hangs === true || delayMs !== undefined || code !== undefined || answer !== undefined;
  const fault = {
    hangs: hangs === true,
    ...defined({ delayMs, count, answer }),
    ...(code === undefined ? {} : { fail: { code, message } }),
  };
  await control.setFault(text(args, "rpc") ?? "*", isFault ? fault : undefined);
}

/** The newest sandbox of the pod; prefers a ready one. @throws LabError USAGE */
async function sandboxOf(control: RemoteControl, args: InjectionArguments): Promise<SandboxSnapshot> {
  const pod = text(args, "pod") ?? "";
  const { sandboxes } = await control.snapshot();
  const [found] = sandboxes
    .filter(({ name }) => name === pod)
    .sort((a, b) => Number(b.state === "ready") - Number(a.state === "ready") || b.attempt - a.attempt);
  if (found !== undefined) return found;
  const names = [...new Set(sandboxes.map(({ name }) => name))].join(", ") || "-";
  throw new MessageError("USAGE", ["runtimeHasNoPod", { pod }], ["itHas", { names }]);
}

/** The newest container of the pod with this name, if given. @throws LabError USAGE */
async function containerOf(
  control: RemoteControl,
  args: InjectionArguments,
  state: ContainerSnapshot["state"] | undefined,
): Promise<ContainerSnapshot> {
  const wanted = text(args, "container");
  const sandbox = await sandboxOf(control, args);
  const [found] = sandbox.containers
    .filter((one) => (wanted === undefined || one.name === wanted) && (state === undefined || one.state === state))
    .sort((a, b) => b.attempt - a.attempt);
  if (found !== undefined) return found;
  const what = [state, wanted].filter((one) => one !== undefined).join(" ") || "-";
  const names = sandbox.containers.map((one) => `${one.name} (${one.state})`).join(", ") || "-";
  throw new MessageError("USAGE", ["podHasNoContainer", { pod: sandbox.name, what }], ["itHas", { names }]);
}
