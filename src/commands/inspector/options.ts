import { type Command, Option } from "commander";
import { addOutputOptions, addTargetOptions, parseDuration, parsePath } from "../../cli/options.js";
import type { TargetOptions } from "../../testbed/target.js";
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

/** Adds what all inspectors take. @param nodeName the node that is joined for as long as the inspector is open */
export function addInspectorOptions(command: Command, nodeName: string): Command {
  return addTargetOptions(addOutputOptions(command))
    .option("--name <name>", "name of the node that the kubelet joins as", nodeName)
    .option("--manifest-dir <folder>", "static pods: a folder of manifests, or one manifest", parsePath)
    .option("--cri <endpoint>", "run pods there: unix:///path or tcp://host:port (default: embedded)")
    .addOption(new Option("--duration <time>", "end after this long").argParser(parseDuration));
}

/** Adds `--http`: an address of this machine only. @param what the option's help */
export function addHttpOption(command: Command, what: string): Command {
  return command.addOption(new Option("--http <address>", what).argParser(parseHttpAddress));
}
