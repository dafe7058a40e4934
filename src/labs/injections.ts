import { GRPC_CODES, type GrpcCode } from "../cri/status.js";
import { MessageError } from "../i18n/message-error.js";
import type { ContainerSnapshot, RuntimeControl, SandboxSnapshot } from "../runtime/control/control.js";
import type { Clock } from "../util/clock.js";
import { defined } from "../util/defined.js";
import type { InjectionArguments } from "./environment.js";
import type { LabMachine, LabNodes } from "./nodes.js";

/** The objects that injections change. */
export interface InjectionDeps {
  readonly clock: Clock;
  readonly nodes: LabNodes;
  setSpeed(factor: number): Promise<void>;
}

const PULL_FAULTS = ["not-found", "denied", "unreachable", "rate-limited"] as const;
const CONDITIONS = ["NetworkReady", "RuntimeReady"] as const;

/** Performs an injection; see `INJECTIONS`. @throws LabError USAGE for an unknown object; the control's RpcError */
export async function inject(
  { clock, nodes, setSpeed }: InjectionDeps,
  name: string,
  args: InjectionArguments,
  signal: AbortSignal,
): Promise<void> {
  if (name === "time-passes") return clock.sleep(Number(args["minutes"]) * 60_000, signal);
  if (name === "speed") return setSpeed(Number(args["factor"]));
  const machine = nodes.machine(text(args, "node"));
  if (name === "node-start") return machine.start();
  if (name === "node-stop") return args["power"] === true ? machine.powerOff() : machine.stop();
  await injectIntoRuntime(machine, name, args);
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
      return control.killContainer(containerOf(control, args, "running").containerId, {
        oom: args["oom"] === true,
        ...defined({ exitCode, signal }),
      });
    }
    case "remove-container":
      return control.removeContainer(containerOf(control, args, undefined).containerId, args["silently"] === true);
    case "sandbox-not-ready":
      return control.setSandboxNotReady(sandboxOf(control, args).sandboxId);
    case "pull-fault": {
      const how = args["how"] === undefined ? undefined : oneOf(args, "how", PULL_FAULTS);
      return control.setPullFault(text(args, "image") ?? "", how);
    }
    case "pull-time":
      return control.setPullTime(number(args, "ms") ?? 0);
    case "drop-events":
      return control.dropEvents(number(args, "count") ?? true);
    default:
      throw new MessageError("USAGE", ["injectionUnknown", { name }], ["injectionUnknownHint"]);
  }
}

function setFault(control: RuntimeControl, args: InjectionArguments): void {
  const { hangs } = args;
  const delayMs = number(args, "delayMs");
  const count = number(args, "count");
  const code = args["code"] === undefined ? undefined : oneOf<GrpcCode>(args, "code", GRPC_CODES);
  const message = text(args, "message") ?? "made to fail by the lab";
  const isFault = hangs === true || delayMs !== undefined || code !== undefined;
  const fault = {
    hangs: hangs === true,
    ...defined({ delayMs, count }),
    ...(code === undefined ? {} : { fail: { code, message } }),
  };
  control.setFault(text(args, "rpc") ?? "*", isFault ? fault : undefined);
}

/** The newest sandbox of the pod; prefers a ready one. @throws LabError USAGE */
function sandboxOf(control: RuntimeControl, args: InjectionArguments): SandboxSnapshot {
  const pod = text(args, "pod") ?? "";
  const { sandboxes } = control.snapshot();
  const [found] = sandboxes
    .filter(({ name }) => name === pod)
    .sort((a, b) => Number(b.state === "ready") - Number(a.state === "ready") || b.attempt - a.attempt);
  if (found !== undefined) return found;
  const names = [...new Set(sandboxes.map(({ name }) => name))].join(", ") || "-";
  throw new MessageError("USAGE", ["runtimeHasNoPod", { pod }], ["itHas", { names }]);
}

/** The newest container of the pod with this name, if given. @throws LabError USAGE */
function containerOf(
  control: RuntimeControl,
  args: InjectionArguments,
  state: ContainerSnapshot["state"] | undefined,
): ContainerSnapshot {
  const wanted = text(args, "container");
  const sandbox = sandboxOf(control, args);
  const [found] = sandbox.containers
    .filter((one) => (wanted === undefined || one.name === wanted) && (state === undefined || one.state === state))
    .sort((a, b) => b.attempt - a.attempt);
  if (found !== undefined) return found;
  const what = [state, wanted].filter((one) => one !== undefined).join(" ") || "-";
  const names = sandbox.containers.map((one) => `${one.name} (${one.state})`).join(", ") || "-";
  throw new MessageError("USAGE", ["podHasNoContainer", { pod: sandbox.name, what }], ["itHas", { names }]);
}

function text(args: InjectionArguments, key: string): string | undefined {
  const value = args[key];
  return value === undefined ? undefined : String(value);
}

function number(args: InjectionArguments, key: string): number | undefined {
  const value = args[key];
  return value === undefined ? undefined : Number(value);
}

/** @throws LabError USAGE */
function oneOf<T extends string>(args: InjectionArguments, key: string, known: Iterable<T>): T {
  const value = text(args, key) ?? "";
  const found = [...known].find((one) => one === value);
  if (found === undefined) {
    throw new MessageError("USAGE", { verbatim: `${key}: ${value}` }, [
      "expectedOneOf",
      { names: [...known].join(", ") },
    ]);
  }
  return found;
}
