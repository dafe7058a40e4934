import { isZeroQuantity } from "../../../staging/apimachinery/quantity.js";
import { isRecord } from "../../../util/records.js";
import type { KubeletConfiguration } from "./defaults.js";
import { INVALID } from "./validation-rules.js";

const MAX_INT32 = 2_147_483_647;
const PER_MILLION = 1_000_000;

/** Mirrors validateReservedMemoryConfiguration in pkg/kubelet/apis/config/validation/validation_reserved_memory.go. */
export function reservedMemoryProblems(all: NonNullable<KubeletConfiguration["reservedMemory"]>): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const { numaNode = 0, limits = {} } of all) {
    for (const [resource, quantity] of Object.entries(limits)) {
      const of = `for NUMA node ${numaNode} and resource ${JSON.stringify(resource)}`;
      if (resource !== "memory" && !resource.startsWith("hugepages-")) {
        const known = "only [memory hugepages-<HugePageSize>] is accepted";
        const limit = `the limit type ${JSON.stringify(resource)} for NUMA node ${numaNode} is not supported`;
        problems.push(`${INVALID} ${limit}, ${known}`);
      }
      if (isZeroQuantity(quantity)) problems.push(`${INVALID} reserved memory may not be zero ${of}`);
      const key = `${numaNode}/${resource}`;
      if (seen.has(key)) problems.push(`${INVALID} the reserved memory has a duplicate value ${of}`);
      seen.add(key);
    }
  }
  return problems;
}

/** Mirrors ValidateShowHiddenMetricsVersion in k8s.io/component-base/metrics/options.go. */
export function hiddenMetricsProblems(version: string, kubeVersion: string): string[] {
  const [major, minor] = kubeVersion.split(".").map(Number);
  const previous = `${major}.${(minor ?? 0) - 1}`;
  if (version === "" || version === previous) return [];
  return [
    `--show-hidden-metrics-for-version must be omitted or have the value '${previous}'. Only the previous minor version is allowed`,
  ];
}

/** Mirrors Validate in k8s.io/component-base/logs/api/v1/options.go, as far as it needs no flags. */
export function loggingProblems(logging: unknown): string[] {
  if (!isRecord(logging)) return [];
  const { format = "text", verbosity = 0, vmodule } = logging;
  const problems: string[] = [];
  if (format !== "text" && format !== "json" && format !== "") {
    problems.push(`logging.format: Invalid value: ${JSON.stringify(format)}: Unsupported log format`);
  }
  if (Number(verbosity) > MAX_INT32) {
    problems.push(`logging.verbosity: Invalid value: 0x${Number(verbosity).toString(16)}: Must be <= ${MAX_INT32}`);
  }
  if (Array.isArray(vmodule) && vmodule.length > 0 && format === "json") {
    problems.push("logging.vmodule: Forbidden: Only supported for text log format");
  }
  return problems;
}

/** Mirrors ValidateTracingConfiguration in k8s.io/component-base/tracing/api/v1/config.go. @param isEnabled KubeletTracing */
export function tracingProblems(tracing: KubeletConfiguration["tracing"], isEnabled: boolean): string[] {
  if (tracing === undefined) return [];
  if (!isEnabled) return [`${INVALID} tracing should not be configured if KubeletTracing feature flag is disabled.`];
  const { endpoint, samplingRatePerMillion: rate } = tracing;
  const problems: string[] = [];
  const invalid = (field: string, value: unknown, why: string) =>
    problems.push(`tracing.${field}: Invalid value: ${JSON.stringify(value)}: ${why}`);
  if (rate !== undefined && rate < 0) invalid("samplingRatePerMillion", rate, "sampling rate must be positive");
  if (rate !== undefined && rate > PER_MILLION) {
    invalid("samplingRatePerMillion", rate, "sampling rate per million must be less than or equal to one million");
  }
  const [, scheme = "dns"] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(endpoint ?? "") ?? [];
  if (scheme !== "dns" && scheme !== "unix") {
    invalid("endpoint", endpoint, `unsupported scheme: ${scheme}.  Options are none, dns, or unix`);
  }
  return problems;
}
