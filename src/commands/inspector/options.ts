import type { Command } from "commander";
import type { TargetOptions } from "../../testbed/target/target.js";
import { addKubeletOptions, addOutputOptions, addTargetOptions, addUiOption } from "../cli/options.js";
import { parseHttpAddress } from "./http-address.js";
import type { HttpAddress } from "./page-server.js";

/** The flags of an inspector into a kubelet. */
export interface InspectorOptions extends TargetOptions {
  readonly name: string;
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
