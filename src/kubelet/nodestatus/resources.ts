import { canonicalQuantity, canonicalResourceQuantity, subtractQuantity } from "../../apimachinery/quantity.js";
import { LabError } from "../../util/errors.js";

/** The capacity that the node reports, as quantities in the API's canonical form: `100`, `32Gi`, `110`. */
export interface NodeResources {
  readonly cpu: string;
  readonly memory: string;
  readonly pods: string;
}

/** evictionHard memory.available: reserved so that the node can act before it runs out of memory. */
const HARD_EVICTION_MEMORY = "100Mi";

/** The disk space that nodes report, and what evictionHard nodefs.available (10%) leaves to pods. */
export const EPHEMERAL_STORAGE = { capacity: "100Gi", allocatable: "90Gi" } as const;

/**
 * Checks the values of --cpu, --memory and --pods.
 * @returns them in canonical form, which the API server stores: another form would look changed at every heartbeat
 * @throws LabError USAGE that names the flag
 */
export function checkResources(resources: NodeResources): NodeResources {
  const check = (flag: keyof NodeResources, pattern: RegExp, example: string) => {
    const text = resources[flag];
    if (pattern.test(text)) return canonicalResourceQuantity(text);
    const what = canonicalQuantity(text) !== undefined ? "cannot be a node's capacity" : "is not a quantity";
    throw new LabError("USAGE", `--${flag} ${JSON.stringify(text)} ${what}`, `Give for example ${example}.`);
  };
  return {
    cpu: check("cpu", /^[1-9]\d{0,6}m?$/, "4 or 1500m"),
    memory: check("memory", /^[1-9]\d{0,15}([KMGTPE]i|[kMGTPE])?$/, "32Gi or 500Mi"),
    pods: check("pods", /^\d{1,6}$/, "110"),
  };
}

/**
 * The part of the capacity that pods may use: memory minus the hard eviction threshold.
 *
 * Mirrors pkg/kubelet/cm/node_container_manager_linux.go (GetNodeAllocatableAbsolute), with the kubelet's default
 * evictionHard (memory.available 100Mi) and nothing reserved.
 */
export function allocatable(capacity: NodeResources): NodeResources {
  return { ...capacity, memory: subtractQuantity(capacity.memory, HARD_EVICTION_MEMORY) };
}
