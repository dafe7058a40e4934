import { isIPv4 } from "node:net";
import { type Command, InvalidArgumentError } from "commander";
import type { TargetOptions } from "../../testbed/target/target.js";
import { addKubeletOptions, addOutputOptions, addTargetOptions, addUiOption } from "../cli/options.js";
import type { HttpAddress } from "./page-server.js";

/** The flags of an inspector into a kubelet. */
export interface InspectorOptions extends TargetOptions {
  readonly node: string;
  readonly manifestDir?: string;
  readonly cri?: string;
  readonly http?: HttpAddress;
  /** ms */
  readonly duration?: number;
}

/** Adds the flags of all inspectors. @param nodeName default name of the node, which the inspector removes at its end */
export function addInspectorOptions(command: Command, nodeName: string): Command {
  return addKubeletOptions(addTargetOptions(addUiOption(addOutputOptions(command))), nodeName);
}

/** Adds `--http`, an address of this machine. @param help the option's help */
export function addHttpOption(command: Command, help: string): Command {
  return command.option("--http <address>", help, parseHttpAddress);
}

/** Parses `127.0.0.1:8080`, `localhost:0`, `[::1]:8080` or `8080`. Only this machine, because the page can change the runtime. */
export function parseHttpAddress(text: string): HttpAddress {
  const match = /^(?:(\[::1\]|localhost|127(?:\.\d{1,3}){3}):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  const isAddress = match !== null && (!/^127/.test(match[1] ?? "") || isIPv4(match[1] ?? ""));
  if (!isAddress || port > 65_535) {
    throw new InvalidArgumentError("expected an address of this machine and a port, for example 127.0.0.1:8080.");
  }
  return { host: (match[1] ?? "127.0.0.1").replace(/^\[|\]$/g, ""), port };
}
