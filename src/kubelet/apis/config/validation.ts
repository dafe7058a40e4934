import { taintProblem } from "../../../staging/apimachinery/corev1/taints.js";
import type { KubeletConfiguration } from "./defaults.js";
import { featureGatesProblem } from "./feature-gates.js";
import { checkCfsPeriod, checkGated, checkShutdown, checkTopology } from "./validation-gated.js";
import { hiddenMetricsProblems, loggingProblems, reservedMemoryProblems, tracingProblems } from "./validation-parts.js";
import { INVALID, isOutside, type Rules, rulesFor } from "./validation-rules.js";

/**
 * Checks a configuration, and finds all its problems.
 *
 * Mirrors ValidateKubeletConfiguration in pkg/kubelet/apis/config/validation/validation.go.
 * Differs: the names of feature gates are those of v1.25; with a later release, any is accepted.
 * @returns upstream's messages, in its order; empty: it is valid
 */
export function validateKubeletConfiguration(kc: KubeletConfiguration, kubeVersion: string): string[] {
  const { featureGates = {} } = kc;
  const problem = featureGatesProblem(featureGates, kubeVersion);
  // Without the gates nothing else can be decided.
  if (problem !== undefined) return [problem];
  const problems: string[] = [];
  const rules = rulesFor(kc, kubeVersion, (problem) => problems.push(problem));
  checkNumbers(rules);
  checkTaints(rules);
  checkTopology(rules);
  checkShutdown(rules);
  checkGated(rules);
  checkAllocatable(rules);
  checkHairpinAndCpus(rules);
  problems.push(...reservedMemoryProblems(kc.reservedMemory ?? []));
  problems.push(...hiddenMetricsProblems(kc.showHiddenMetricsForVersion ?? "", kubeVersion));
  problems.push(...loggingProblems(kc.logging));
  problems.push(...tracingProblems(kc.tracing, rules.enabled("KubeletTracing")));
  checkMemoryThrottling(rules);
  return problems;
}

function isNoPort(port: number): boolean {
  return isOutside(port, 1, 65_535);
}

function checkNumbers(rules: Rules): void {
  const { kc, when } = rules;
  const { nodeLeaseDurationSeconds, cgroupsPerQOS, enforceNodeAllocatable, systemCgroups = "", cgroupRoot = "" } = kc;
  when(nodeLeaseDurationSeconds <= 0, `${INVALID} nodeLeaseDurationSeconds must be greater than 0`);
  when(
    !cgroupsPerQOS && enforceNodeAllocatable.length > 0,
    `${INVALID} enforceNodeAllocatable (--enforce-node-allocatable) is not supported unless cgroupsPerQOS (--cgroups-per-qos) is set to true`,
  );
  when(
    systemCgroups !== "" && cgroupRoot === "",
    `${INVALID} systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified`,
  );
  const notNegative = (name: string, flag: string, value: number) =>
    when(value < 0, `${INVALID} ${name} (--${flag}) ${value} must not be a negative number`);
  const between = (name: string, flag: string, value: number, least: number, most: number) =>
    when(
      isOutside(value, least, most),
      `${INVALID} ${name} (--${flag}) ${value} must be between ${least} and ${most}, inclusive`,
    );
  notNegative("eventBurst", "event-burst", kc.eventBurst);
  notNegative("eventRecordQPS", "event-qps", kc.eventRecordQPS);
  if (kc.healthzPort !== 0) between("healthzPort", "healthz-port", kc.healthzPort, 1, 65_535);
  checkCfsPeriod(rules);
  const [high, low] = [kc.imageGCHighThresholdPercent, kc.imageGCLowThresholdPercent];
  between("imageGCHighThresholdPercent", "image-gc-high-threshold", high, 0, 100);
  between("imageGCLowThresholdPercent", "image-gc-low-threshold", low, 0, 100);
  when(
    low >= high,
    `${INVALID} imageGCLowThresholdPercent (--image-gc-low-threshold) ${low} must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) ${high}`,
  );
  between("iptablesDropBit", "iptables-drop-bit", kc.iptablesDropBit, 0, 31);
  between("iptablesMasqueradeBit", "iptables-masquerade-bit", kc.iptablesMasqueradeBit, 0, 31);
  notNegative("kubeAPIBurst", "kube-api-burst", kc.kubeAPIBurst);
  notNegative("kubeAPIQPS", "kube-api-qps", kc.kubeAPIQPS);
  when(
    kc.nodeStatusMaxImages < -1,
    `${INVALID} nodeStatusMaxImages (--node-status-max-images) ${kc.nodeStatusMaxImages} must be -1 or greater`,
  );
  notNegative("maxOpenFiles", "max-open-files", kc.maxOpenFiles);
  notNegative("maxPods", "max-pods", kc.maxPods);
  between("oomScoreAdj", "oom-score-adj", kc.oomScoreAdj, -1000, 1000);
  notNegative("podsPerCore", "pods-per-core", kc.podsPerCore ?? 0);
  between("port", "port", kc.port, 1, 65_535);
  const { readOnlyPort = 0, maxParallelImagePulls } = kc;
  when(
    readOnlyPort !== 0 && isNoPort(readOnlyPort),
    `${INVALID} readOnlyPort (--read-only-port) ${readOnlyPort} must be between 0 and 65535, inclusive`,
  );
  notNegative("registryBurst", "registry-burst", kc.registryBurst);
  notNegative("registryPullQPS", "registry-qps", kc.registryPullQPS);
  if (maxParallelImagePulls === undefined) return;
  when(
    maxParallelImagePulls < 1,
    `${INVALID} maxParallelImagePulls ${maxParallelImagePulls} must be a positive number`,
  );
  when(
    kc.serializeImagePulls && maxParallelImagePulls > 1,
    `${INVALID} maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false`,
  );
}

function checkTaints({ kc, when }: Rules): void {
  for (const taint of kc.registerWithTaints ?? []) {
    const { key, value = "", effect, timeAdded } = taint;
    when(taintProblem(taint) !== undefined, `invalid taint: {${key} ${value} ${effect} ${timeAdded ?? "<nil>"}}`);
    when(timeAdded !== undefined && timeAdded !== null, `${INVALID} taint.TimeAdded is not nil`);
  }
}

function checkMemoryThrottling({ kc, when }: Rules): void {
  const factor = kc.memoryThrottlingFactor;
  when(
    isOutside(factor, Number.MIN_VALUE, 1),
    `${INVALID} memoryThrottlingFactor ${factor} must be greater than 0 and less than or equal to 1.0`,
  );
}

const ENFORCEMENTS = ["pods", "system-reserved", "kube-reserved", "none"];

function checkAllocatable({ kc, when }: Rules): void {
  const flag = "enforceNodeAllocatable (--enforce-node-allocatable)";
  const { enforceNodeAllocatable: all, systemReservedCgroup = "", kubeReservedCgroup = "" } = kc;
  for (const one of all) {
    when(
      one === "system-reserved" && systemReservedCgroup === "",
      `${INVALID} systemReservedCgroup (--system-reserved-cgroup) must be specified when "system-reserved" contained in ${flag}`,
    );
    when(
      one === "kube-reserved" && kubeReservedCgroup === "",
      `${INVALID} kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "kube-reserved" contained in ${flag}`,
    );
    when(
      one === "none" && all.length > 1,
      `${INVALID} ${flag} may not contain additional enforcements when "none" is specified`,
    );
    when(
      !ENFORCEMENTS.includes(one),
      `${INVALID} option ${JSON.stringify(one)} specified for ${flag}. Valid options are "pods", "system-reserved", "kube-reserved", or "none"`,
    );
  }
}

/** The first part of a CPU set (`0-3,8`) that is no number; undefined: there is none. Mirrors Parse in pkg/kubelet/cm/cpuset/cpuset.go. */
function noNumberIn(cpus: string): string | undefined {
  const parts = cpus.split(",").map((range) => range.split("-"));
  // Upstream skips ranges with more than two ends.
  return parts
    .filter(({ length }) => length <= 2)
    .flat()
    .find((part) => !/^[+-]?\d+$/.test(part));
}

function checkHairpinAndCpus({ kc, when }: Rules): void {
  when(
    !["none", "hairpin-veth", "promiscuous-bridge"].includes(kc.hairpinMode),
    `${INVALID} option ${JSON.stringify(kc.hairpinMode)} specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"`,
  );
  const { reservedSystemCPUs: cpus = "", systemReservedCgroup = "", kubeReservedCgroup = "" } = kc;
  if (cpus === "") return;
  when(
    systemReservedCgroup !== "" || kubeReservedCgroup !== "",
    `${INVALID} can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)`,
  );
  const wrong = noNumberIn(cpus);
  when(
    wrong !== undefined,
    `${INVALID} unable to parse reservedSystemCPUs (--reserved-cpus) ${cpus}, error: strconv.Atoi: parsing ${JSON.stringify(wrong)}: invalid syntax`,
  );
}
