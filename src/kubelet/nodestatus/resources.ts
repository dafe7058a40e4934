import {
  canonicalQuantity,
  canonicalResourceQuantity,
  subtractQuantity,
  unitValue,
} from "../../apimachinery/quantity.js";
import { LabError } from "../../util/errors.js";

/** The capacity that the node reports, as quantities in the API's canonical form: `100`, `32Gi`, `110`. */
export interface NodeResources {
  readonly cpu: string;
  readonly memory: string;
  readonly pods: string;
  /** default 100Gi */
  readonly disk?: string;
}

/** evictionHard memory.available: reserved so that the node can act before it runs out of memory. */
const HARD_EVICTION_MEMORY = "100Mi";

/** The disk space of a node unless `disk` names another. */
const DEFAULT_DISK = "100Gi";
/** evictionHard nodefs.available is 10%. */
const HARD_EVICTION_DISK_SHARE = 10;

/**
 * Checks the values of --cpu, --memory, --pods and --disk.
 * @returns them in canonical form, which the API server stores: another form would look changed at every heartbeat
 * @throws LabError USAGE that names the flag
 */
export function checkResources(resources: NodeResources): NodeResources {
  const check = (flag: keyof NodeResources, pattern: RegExp, example: string) => {
    const text = resources[flag] ?? DEFAULT_DISK;
    if (pattern.test(text)) return canonicalResourceQuantity(text);
    const what = canonicalQuantity(text) !== undefined ? "cannot be a node's capacity" : "is not a quantity";
    throw new LabError("USAGE", `--${flag} ${JSON.stringify(text)} ${what}`, `Give for example ${example}.`);
  };
  return {
    cpu: check("cpu", /^[1-9]\d{0,6}m?$/, "4 or 1500m"),
    memory: check("memory", BYTES, "32Gi or 500Mi"),
    pods: check("pods", /^\d{1,6}$/, "110"),
    ...(resources.disk === undefined ? {} : { disk: check("disk", BYTES, "100Gi or 500M") }),
  };
}

const BYTES = /^[1-9]\d{0,15}([KMGTPE]i|[kMGTPE])?$/;

/** The amounts as a node's status lists them. */
export function resourceList({ cpu, memory, pods, disk = DEFAULT_DISK }: NodeResources) {
  return { cpu, "ephemeral-storage": disk, memory, pods };
}

/** The capacity of the node's disk, in bytes. */
export function diskBytes({ disk = DEFAULT_DISK }: NodeResources): number {
  return unitValue(disk);
}

/**
 * The part of the capacity that pods may use: memory and disk minus the hard eviction thresholds.
 *
 * Mirrors pkg/kubelet/cm/node_container_manager_linux.go (GetNodeAllocatableAbsolute), with the kubelet's default
 * evictionHard (memory.available 100Mi, nodefs.available 10%) and nothing reserved.
 */
export function allocatable(capacity: NodeResources): NodeResources {
  const { disk = DEFAULT_DISK } = capacity;
  const reserved = Math.trunc((unitValue(disk) * HARD_EVICTION_DISK_SHARE) / 100);
  return {
    ...capacity,
    memory: subtractQuantity(capacity.memory, HARD_EVICTION_MEMORY),
    disk: subtractQuantity(disk, String(reserved)),
  };
}
