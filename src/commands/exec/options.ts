import { type Command, InvalidArgumentError, Option } from "commander";
import { addTargetOptions, addTraceOptions } from "../../cli/options.js";
import { factFor } from "../../release/facts.js";
import type { RemoteCommandProtocol } from "../../streaming/remote-command/connect.js";
import type { TargetOptions } from "../../testbed/target.js";

/** Flags of everything that goes to a pod. */
export interface PodOptions extends TargetOptions {
  readonly namespace: string;
  readonly container?: string;
}

/** Flags of exec and attach. */
export interface RemoteOptions extends PodOptions {
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly protocol?: ProtocolFlag;
  readonly frames?: boolean;
}

export type ProtocolFlag = "v5" | "v4" | "spdy";

/**
 * What is tried, one after the other: what the kubectl of the cluster's release would.
 * @param kubeVersion undefined: it is not known, and the newest kubectl is taken, which falls back
 */
export function protocolsOf(
  flag: ProtocolFlag | undefined,
  kubeVersion: string | undefined,
): readonly RemoteCommandProtocol[] {
  if (flag !== undefined) return [flag];
  const isOld = kubeVersion !== undefined && factFor("execProtocol", kubeVersion) === "SPDY/3.1";
  return isOld ? ["spdy"] : ["v5", "spdy"];
}

/** Without --json: what comes from the pod is the result. */
export function addPodOptions(command: Command): Command {
  return addNamespaceOption(addTargetOptions(addTraceOptions(command)));
}

export function addNamespaceOption(command: Command): Command {
  return command.addOption(new Option("-n, --namespace <name>", "of the pod").default("default"));
}

export function addContainerOption(command: Command): Command {
  return command.addOption(
    new Option(
      "-c, --container <name>",
      "which of the pod's containers (default: what its annotation says, else the first)",
    ),
  );
}

export function addRemoteOptions(command: Command): Command {
  return addContainerOption(addPodOptions(command))
    .addOption(new Option("-i, --stdin", "send this command's stdin"))
    .addOption(new Option("-t, --tty", "as a terminal: every key goes there, Ctrl-C too"))
    .addOption(
      new Option(
        "--protocol <name>",
        "v5 or v4 (WebSocket), or spdy; default: as kubectl of that release, before 1.30 spdy, then v5, else spdy",
      ).choices(["v5", "v4", "spdy"]),
    )
    .addOption(framesOption());
}

export function framesOption(): Option {
  return new Option(
    "--frames",
    "print every frame: direction, channel, length, beginning. What is piped into stdin is shown as it is; of what is typed with -t only lengths are, as it may be a password",
  );
}

/** @throws InvalidArgumentError: commander names the flag */
export function parseCount(text: string): number {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  throw new InvalidArgumentError("expected a whole number, 0 or more.");
}

/** -1: no limit, as kubectl logs --tail takes it. @throws InvalidArgumentError: commander names the flag */
export function parseCountOrAll(text: string): number {
  if (text === "-1") return -1;
  if (/^\d+$/.test(text)) return parseCount(text);
  throw new InvalidArgumentError("expected a whole number, 0 or more, or -1 for all.");
}
