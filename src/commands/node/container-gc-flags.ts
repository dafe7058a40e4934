import { type Command, Option } from "commander";
import { DEFAULT_GC_POLICY, type GcPolicy } from "../../kubelet/container/generic-runtime.js";
import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { LabError } from "../../util/errors.js";
import { parseDurationText, parseInteger } from "./kubelet-flags.js";

/** The kubelet's flags about dead containers, which have no field in its configuration. */
export interface ContainerGcFlags {
  readonly minimumContainerTtlDuration?: string;
  readonly maximumDeadContainersPerContainer?: number;
  readonly maximumDeadContainers?: number;
}

/** Adds these flags. Mirrors AddFlags of KubeletFlags in cmd/kubelet/app/options/options.go. */
export function addContainerGcFlags(command: Command): Command {
  const flags: readonly (readonly [flags: string, description: string, parse: (text: string) => unknown])[] = [
    ["--minimum-container-ttl-duration <time>", "younger dead containers are not collected", parseDurationText],
    ["--maximum-dead-containers-per-container <number>", "dead ones kept of each; -1: all", parseInteger],
    ["--maximum-dead-containers <number>", "dead ones kept on the node; -1: all", parseInteger],
  ];
  // Their names are too long for a help.
  for (const [name, description, parse] of flags) {
    command.addOption(new Option(name, description).argParser(parse).hideHelp());
  }
  return command;
}

/**
 * Which dead containers are kept, checked as NewContainerGC does.
 * @throws LabError USAGE for a negative age, in upstream's words
 */
export function gcPolicyOf(flags: ContainerGcFlags): GcPolicy {
  const { minimumContainerTtlDuration: age = "0s" } = flags;
  const minAgeMs = parseGoDuration(age);
  if (minAgeMs < 0) {
    const message = `invalid minimum garbage collection age: ${age}`;
    throw new LabError("USAGE", message, "--minimum-container-ttl-duration is an age such as 1m30s.");
  }
  return {
    minAgeMs,
    maxPerPodContainer: flags.maximumDeadContainersPerContainer ?? DEFAULT_GC_POLICY.maxPerPodContainer,
    maxContainers: flags.maximumDeadContainers ?? DEFAULT_GC_POLICY.maxContainers,
  };
}
