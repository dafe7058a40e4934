import { type Command, InvalidArgumentError, Option } from "commander";
import type { KubeletConfigurationFields } from "../../kubelet/apis/config/fields.js";
import { DEFAULT_GC_POLICY, type GcPolicy } from "../../kubelet/container/generic-runtime.js";
import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { defined } from "../../util/defined.js";
import { LabError, messageOf } from "../../util/errors.js";
import { inHelp } from "../cli/help-language.js";

const FURTHER = "Flags of eviction and of the Go kubelet: docs/commands.md";

type Pairs = Readonly<Record<string, string>>;

/** The kubelet's flags about eviction and the collection of images and dead containers. Those about containers have no field. */
export interface EvictionFlags {
  readonly evictionHard?: Pairs;
  readonly evictionSoft?: Pairs;
  readonly evictionSoftGracePeriod?: Pairs;
  readonly evictionMinimumReclaim?: Pairs;
  readonly evictionPressureTransitionPeriod?: string;
  readonly evictionMaxPodGracePeriod?: number;
  readonly imageGcHighThreshold?: number;
  readonly imageGcLowThreshold?: number;
  readonly minimumImageTtlDuration?: string;
  readonly minimumContainerTtlDuration?: string;
  readonly maximumDeadContainersPerContainer?: number;
  readonly maximumDeadContainers?: number;
}

/** Adds upstream's flags. Mirrors AddKubeletConfigFlags in cmd/kubelet/app/options/options.go. */
export function addEvictionFlags(command: Command): Command {
  const thresholds = pairsOf("<", "memory.available<500Mi");
  const times = pairsOf("=", "memory.available=1m30s");
  const amounts = pairsOf("=", "memory.available=1Gi");
  command.option("--eviction-hard <thresholds>", "evict pods at once below these: memory.available<500Mi", thresholds);
  const more: readonly (readonly [flags: string, description: string, parse: (text: string) => unknown])[] = [
    ["--eviction-soft <thresholds>", "evict pods below these for a grace period", thresholds],
    ["--eviction-soft-grace-period <times>", "the grace periods: memory.available=1m30s", times],
    ["--eviction-minimum-reclaim <amounts>", "what must be free beyond a threshold", amounts],
    ["--eviction-pressure-transition-period <time>", "how long a pressure condition stays", goDurationText],
    ["--eviction-max-pod-grace-period <seconds>", "time to end for pods that a soft threshold evicts", integer],
    ["--image-gc-high-threshold <percent>", "collect images at this disk usage", integer],
    ["--image-gc-low-threshold <percent>", "collect images down to this disk usage", integer],
    ["--minimum-image-ttl-duration <time>", "younger images are not collected", goDurationText],
    ["--minimum-container-ttl-duration <time>", "younger dead containers are not collected", goDurationText],
    ["--maximum-dead-containers-per-container <number>", "dead ones kept of each; -1: all", integer],
    ["--maximum-dead-containers <number>", "dead ones kept on the node; -1: all", integer],
  ];
  // Their names are too long for a help.
  for (const [flags, description, parse] of more) {
    command.addOption(new Option(flags, description).argParser(parse).hideHelp());
  }
  return command.addHelpText("after", () => `\n${inHelp(command, FURTHER)}`);
}

/**
 * Which dead containers are kept. Mirrors AddFlags of KubeletFlags in cmd/kubelet/app/options/options.go, and NewContainerGC.
 * @throws LabError USAGE for a negative age, in upstream's words
 */
export function gcPolicyOf(flags: EvictionFlags): GcPolicy {
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

/** The fields that the flags set. */
export function evictionFields(flags: EvictionFlags): KubeletConfigurationFields {
  return defined({
    evictionHard: flags.evictionHard,
    evictionSoft: flags.evictionSoft,
    evictionSoftGracePeriod: flags.evictionSoftGracePeriod,
    evictionMinimumReclaim: flags.evictionMinimumReclaim,
    evictionPressureTransitionPeriod: flags.evictionPressureTransitionPeriod,
    evictionMaxPodGracePeriod: flags.evictionMaxPodGracePeriod,
    imageGCHighThresholdPercent: flags.imageGcHighThreshold,
    imageGCLowThresholdPercent: flags.imageGcLowThreshold,
    imageMinimumGCAge: flags.minimumImageTtlDuration,
  });
}

/**
 * A parser of lists of pairs; a later flag adds to an earlier one.
 * Mirrors LangleSeparatedMapStringString and MapStringString in k8s.io/component-base/cli/flag.
 */
function pairsOf(separator: "<" | "=", example: string): (text: string, before?: Pairs) => Pairs {
  return (text, before = {}) => {
    const pairs: Record<string, string> = { ...before };
    for (const part of text.split(",").filter((one) => one !== "")) {
      const at = part.indexOf(separator);
      if (at < 0)
        throw new InvalidArgumentError(`malformed pair, expect string${separator}string, for example ${example}.`);
      pairs[part.slice(0, at).trim()] = part.slice(at + 1).trim();
    }
    return pairs;
  };
}

function integer(text: string): number {
  if (/^-?\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a whole number.");
}

function goDurationText(text: string): string {
  try {
    parseGoDuration(text);
    return text;
  } catch (error) {
    throw new InvalidArgumentError(`${messageOf(error)}.`);
  }
}
