import { LabError } from "../../util/errors.js";

/** Capacity that the node claims, as quantities in the API's form: `100`, `32Gi`, `110`. */
export interface NodeResources {
  readonly cpu: string;
  readonly memory: string;
  readonly pods: string;
}

const BINARY: Readonly<Record<string, bigint>> = {
  Ki: 2n ** 10n,
  Mi: 2n ** 20n,
  Gi: 2n ** 30n,
  Ti: 2n ** 40n,
  Pi: 2n ** 50n,
  Ei: 2n ** 60n,
};
const DECIMAL: Readonly<Record<string, bigint>> = { "": 1n, k: 10n ** 3n, M: 10n ** 6n, G: 10n ** 9n, T: 10n ** 12n };
const QUANTITY = /^(\d+)([A-Za-z]*)$/;
/** evictionHard memory.available: what is set aside so that the node can act before it runs out. */
const HARD_EVICTION_MEMORY = 100n * 2n ** 20n;

/**
 * Checks what the learner gave for --cpu, --memory and --pods.
 * @throws LabError USAGE that names the flag
 */
export function checkResources(resources: NodeResources): NodeResources {
  const check = (flag: string, text: string, pattern: RegExp, example: string) => {
    if (pattern.test(text)) return text;
    throw new LabError("USAGE", `--${flag} ${JSON.stringify(text)} is not a quantity`, `Give for example ${example}.`);
  };
  return {
    cpu: check("cpu", resources.cpu, /^[1-9]\d{0,6}m?$/, "4 or 1500m"),
    memory: check("memory", resources.memory, /^[1-9]\d{0,15}([KMGTPE]i|[kMGTPE])?$/, "32Gi or 500Mi"),
    pods: check("pods", resources.pods, /^\d{1,6}$/, "110"),
  };
}

/**
 * What pods may use of the capacity: memory less the hard eviction threshold.
 *
 * Mirrors pkg/kubelet/cm/node_container_manager_linux.go (GetNodeAllocatableReservation), with the kubelet's default
 * evictionHard (memory.available 100Mi) and nothing reserved.
 */
export function allocatable(capacity: NodeResources): NodeResources {
  const match = QUANTITY.exec(capacity.memory);
  const unit = BINARY[match?.[2] ?? ""] ?? DECIMAL[match?.[2] ?? ""];
  if (match?.[1] === undefined || unit === undefined) return capacity;
  const left = BigInt(match[1]) * unit - HARD_EVICTION_MEMORY;
  return { ...capacity, memory: `${(left > 0n ? left : 0n) / 1024n}Ki` };
}
