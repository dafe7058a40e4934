import { type Command, InvalidArgumentError, Option } from "commander";
import type { RemoteCommandProtocol } from "../../staging/client-go/remotecommand/connect.js";
import type { TargetOptions } from "../../testbed/target/target.js";
import { factFor } from "../../util/release/facts.js";
import { addTargetOptions, addTraceOptions } from "../cli/options.js";

/** Flags of commands for a pod. */
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
 * The protocols to try in order, as the kubectl of the cluster's release does.
 * @param kubeVersion undefined: unknown, so the newest kubectl's, which falls back
 */
export function protocolsOf(
  flag: ProtocolFlag | undefined,
  kubeVersion: string | undefined,
): readonly RemoteCommandProtocol[] {
  if (flag !== undefined) return [flag];
  const isOld = kubeVersion !== undefined && factFor("execProtocol", kubeVersion) === "SPDY/3.1";
  return isOld ? ["spdy"] : ["v5", "spdy"];
}

/** Without --json, because the pod's output is the result. */
export function addPodOptions(command: Command): Command {
  return addNamespaceOption(addTargetOptions(addTraceOptions(command)));
}

export function addNamespaceOption(command: Command): Command {
  return command.option("-n, --namespace <name>", "the pod's namespace", "default");
}

export function addContainerOption(command: Command): Command {
  return command.option(
    "-c, --container <name>",
    "container of the pod (default: from its annotation, else the first)",
  );
}

export function addRemoteOptions(command: Command): Command {
  return addContainerOption(addPodOptions(command))
    .option("-i, --stdin", "send stdin to the command")
    .option("-t, --tty", "use a terminal: every key is sent, also Ctrl-C")
    .addOption(
      new Option(
        "--protocol <name>",
        "v5 or v4 (WebSocket), or spdy; without it, as kubectl does: spdy before 1.30, then v5 with a fallback to spdy",
      ).choices(["v5", "v4", "spdy"]),
    )
    .addOption(framesOption());
}

export function framesOption(): Option {
  return new Option(
    "--frames",
    "print every frame: direction, channel, length, first bytes (but none of what you type on a terminal: it may be a password)",
  );
}

/** @throws InvalidArgumentError: commander names the flag */
export function parseCount(text: string): number {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  throw new InvalidArgumentError("expected a whole number, 0 or more.");
}

/** -1 means no limit, as in kubectl logs --tail. @throws InvalidArgumentError: commander names the flag */
export function parseCountOrAll(text: string): number {
  if (text === "-1") return -1;
  if (/^\d+$/.test(text)) return parseCount(text);
  throw new InvalidArgumentError("expected a whole number, 0 or more, or -1 for all.");
}
