import {
  canonicalQuantity,
  canonicalResourceQuantity,
  subtractQuantity,
  unitValue,
} from "../../staging/apimachinery/quantity.js";
import { LabError } from "../../util/errors.js";
import type { KubeletConfiguration } from "../apis/config/defaults.js";
import { parseThresholdConfig } from "../eviction/parse.js";
import { type Signal, thresholdAmount } from "../eviction/threshold.js";

/** The capacity that the node reports, as quantities in the API's canonical form: `100`, `32Gi`, `110`. */
export interface NodeResources {
  readonly cpu: string;
  readonly memory: string;
  readonly pods: string;
  /** default 100Gi */
  readonly disk?: string;
}

/** The disk space of a node unless `disk` names another. */
const DEFAULT_DISK = "100Gi";

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

/** Huge pages that a node of x86 reports, none of which its administrator has reserved. Mirrors MachineInfo in setters.go. */
export const HUGE_PAGES = { "hugepages-1Gi": "0", "hugepages-2Mi": "0" } as const;

/** The amounts as a node's status lists them. */
export function resourceList({ cpu, memory, pods, disk = DEFAULT_DISK }: NodeResources) {
  // As the API server stores it: another form of the same amount would be written again and again.
  return { cpu, "ephemeral-storage": canonicalResourceQuantity(disk), memory, pods };
}

/** The capacity of the node's disk, in bytes. */
export function diskBytes({ disk = DEFAULT_DISK }: NodeResources): number {
  return unitValue(disk);
}

/** How many pods the node takes. Mirrors MachineInfo in pkg/kubelet/nodestatus/setters.go. @param cpu the node's */
export function podCapacity(config: Pick<KubeletConfiguration, "maxPods" | "podsPerCore">, cpu: string): number {
  const { maxPods, podsPerCore = 0 } = config;
  return podsPerCore > 0 ? Math.min(podsPerCore * unitValue(cpu), maxPods) : maxPods;
}

/** What is kept from pods: fields of KubeletConfiguration. */
export type Reservations = Pick<KubeletConfiguration, "evictionHard" | "systemReserved" | "kubeReserved">;

/**
 * The part of the capacity that pods may use: without what is reserved for the system, and for memory and disk without the
 * hard eviction threshold, so that the node can act before it runs out.
 *
 * Mirrors GetNodeAllocatableReservation in pkg/kubelet/cm/node_container_manager_linux.go and hardEvictionReservation in
 * pkg/kubelet/cm/helpers.go.
 * @throws Error when a threshold or a quantity is wrong
 */
export function allocatable(capacity: NodeResources, reservations: Reservations): NodeResources {
  const { evictionHard, systemReserved = {}, kubeReserved = {} } = reservations;
  const thresholds = parseThresholdConfig({ evictionHard });
  const without = (amount: string, name: string, signal?: Signal) => {
    const threshold = thresholds.find((one) => one.signal === signal);
    const kept = threshold === undefined ? 0 : thresholdAmount(threshold.value, unitValue(amount));
    return [systemReserved[name] ?? "0", kubeReserved[name] ?? "0", String(kept)].reduce(subtractQuantity, amount);
  };
  return {
    ...capacity,
    cpu: without(capacity.cpu, "cpu"),
    memory: without(capacity.memory, "memory", "memory.available"),
    disk: without(capacity.disk ?? DEFAULT_DISK, "ephemeral-storage", "nodefs.available"),
  };
}
