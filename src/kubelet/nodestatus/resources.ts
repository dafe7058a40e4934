import { LabError } from "../../util/errors.js";

/** Capacity that the node claims, as quantities in the API's canonical form: `100`, `32Gi`, `110`. */
export interface NodeResources {
  readonly cpu: string;
  readonly memory: string;
  readonly pods: string;
}

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;
const DECIMAL = ["m", "", "k", "M", "G", "T", "P", "E"] as const;
/** evictionHard memory.available: what is set aside so that the node can act before it runs out. */
const HARD_EVICTION_MEMORY = 100n * 2n ** 20n;

/** What nodes claim to have of disk space, and what evictionHard nodefs.available (10%) leaves of it to pods. */
export const EPHEMERAL_STORAGE = { capacity: "100Gi", allocatable: "90Gi" } as const;

/** A whole amount with the way it is written: thousandths for the decimal form, bytes for the binary one. */
interface Amount {
  readonly value: bigint;
  readonly form: "binary" | "decimal";
}

/** @returns undefined when the text is no whole quantity */
function parseAmount(text: string): Amount | undefined {
  const match = /^(\d{1,18})([A-Za-z]{0,2})$/.exec(text);
  const [, digits = "", suffix = ""] = match ?? [];
  if (match === null) return undefined;
  const power = suffix === "" ? -1 : BINARY.indexOf(suffix as (typeof BINARY)[number]);
  if (power > 0) return { value: BigInt(digits) * 1024n ** BigInt(power), form: "binary" };
  const exponent = DECIMAL.indexOf(suffix as (typeof DECIMAL)[number]);
  return exponent < 0 ? undefined : { value: BigInt(digits) * 1000n ** BigInt(exponent), form: "decimal" };
}

/**
 * The largest unit that needs no fraction: `1024Mi` is `1Gi`, `2000m` is `2`, `1000` is `1k`. The API server writes
 * quantities like this, and a kubelet that wrote them otherwise would find them changed at every heartbeat.
 *
 * Mirrors k8s.io/apimachinery/pkg/api/resource/quantity.go (CanonicalizeBytes).
 */
function canonical({ value, form }: Amount): string {
  const [base, units] = form === "binary" ? [1024n, BINARY] : [1000n, DECIMAL];
  let rest = value;
  let unit = 0;
  while (rest !== 0n && rest % base === 0n && unit < units.length - 1) {
    rest /= base;
    unit++;
  }
  return rest === 0n ? "0" : `${rest}${units[unit]}`;
}

/**
 * Checks what the learner gave for --cpu, --memory and --pods.
 * @returns the same in canonical form
 * @throws LabError USAGE that names the flag
 */
export function checkResources(resources: NodeResources): NodeResources {
  const check = (flag: keyof NodeResources, pattern: RegExp, example: string) => {
    const text = resources[flag];
    const amount = pattern.test(text) ? parseAmount(text) : undefined;
    if (amount !== undefined) return canonical(amount);
    const what = /^[-+]?[\d.]+[a-zA-Z]*$/.test(text) ? "cannot be a node's capacity" : "is not a quantity";
    throw new LabError("USAGE", `--${flag} ${JSON.stringify(text)} ${what}`, `Give for example ${example}.`);
  };
  return {
    cpu: check("cpu", /^[1-9]\d{0,6}m?$/, "4 or 1500m"),
    memory: check("memory", /^[1-9]\d{0,15}([KMGTPE]i|[kMGTPE])?$/, "32Gi or 500Mi"),
    pods: check("pods", /^\d{1,6}$/, "110"),
  };
}

/**
 * What pods may use of the capacity: memory less the hard eviction threshold.
 *
 * Mirrors pkg/kubelet/cm/node_container_manager_linux.go (GetNodeAllocatableAbsolute), with the kubelet's default
 * evictionHard (memory.available 100Mi) and nothing reserved.
 */
export function allocatable(capacity: NodeResources): NodeResources {
  const amount = parseAmount(capacity.memory);
  if (amount === undefined) return capacity;
  const reserved = amount.form === "binary" ? HARD_EVICTION_MEMORY : HARD_EVICTION_MEMORY * 1000n;
  const left = amount.value - reserved;
  return { ...capacity, memory: canonical({ ...amount, value: left > 0n ? left : 0n }) };
}
