import {
  canonicalQuantity,
  compareQuantities,
  signOfQuantity,
  sumQuantities,
  unitValue,
} from "../../staging/apimachinery/quantity.js";
import { LabError } from "../../util/errors.js";
import type { KubeletConfiguration } from "../apis/config/defaults.js";
import { parseThresholdConfig } from "../eviction/parse.js";
import { type Signal, thresholdAmount } from "../eviction/threshold.js";
import { type NodeResources, resourceList } from "../nodestatus/resources.js";

const RESERVABLE = ["cpu", "memory", "ephemeral-storage", "pid"];
const FIELDS = { kubeReserved: "--kube-reserved", systemReserved: "--system-reserved" } as const;
/** The signals whose hard thresholds are reserved. */
const SIGNALS: Readonly<Record<string, Signal>> = {
  memory: "memory.available",
  "ephemeral-storage": "nodefs.available",
};

/**
 * Checks `kubeReserved` and `systemReserved`.
 *
 * Mirrors parseResourceList in cmd/kubelet/app/server.go.
 * @throws LabError BAD_FILE in upstream's words
 */
export function checkReserved(config: Pick<KubeletConfiguration, keyof typeof FIELDS>): void {
  for (const field of ["kubeReserved", "systemReserved"] as const) {
    for (const [name, amount] of Object.entries(config[field] ?? {})) {
      const why = problemOf(name, amount);
      if (why === undefined) continue;
      const hint = `${field} has amounts of ${RESERVABLE.join(", ")}: \`${field}: {cpu: 100m, memory: 500Mi}\`.`;
      throw new LabError("BAD_FILE", `${FIELDS[field]} value failed to parse: ${why}`, hint);
    }
  }
}

function problemOf(name: string, amount: string): string | undefined {
  if (!RESERVABLE.includes(name)) return `cannot reserve ${JSON.stringify(name)} resource`;
  if (canonicalQuantity(amount) === undefined) {
    return `failed to parse quantity ${JSON.stringify(amount)} for ${JSON.stringify(name)} resource: it is not a quantity`;
  }
  return signOfQuantity(amount) < 0
    ? `resource quantity for ${JSON.stringify(name)} cannot be negative: ${amount}`
    : undefined;
}

/**
 * Checks that a node has enough for the reservations and the hard eviction thresholds.
 *
 * Mirrors validateNodeAllocatable in pkg/kubelet/cm/node_container_manager_linux.go.
 * @throws LabError USAGE in upstream's words
 */
export function checkNodeAllocatable(
  { evictionHard, kubeReserved = {}, systemReserved = {} }: KubeletConfiguration,
  capacity: NodeResources,
): void {
  const thresholds = parseThresholdConfig({ evictionHard });
  const problems = Object.entries(resourceList(capacity)).flatMap(([name, amount]) => {
    const threshold = thresholds.find(({ signal }) => signal === SIGNALS[name]);
    const kept = threshold === undefined ? 0 : thresholdAmount(threshold.value, unitValue(amount));
    const reserved = sumQuantities([systemReserved[name] ?? "0", kubeReserved[name] ?? "0", String(kept)]);
    if (compareQuantities(reserved, amount) <= 0) return [];
    const has = `Resource ${JSON.stringify(name)} has a reservation of ${reserved} but capacity of ${amount}.`;
    return [`${has} Expected capacity >= reservation.`];
  });
  if (problems.length === 0) return;
  const message = `invalid Node Allocatable configuration. ${problems.join(" ")}`;
  const hint =
    "kubeReserved, systemReserved and evictionHard are kept from pods; --cpu, --memory and --disk are what the node has.";
  throw new LabError("USAGE", message, hint);
}
