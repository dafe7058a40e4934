import { type ContainerSpec, containersOf, initContainersOf, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import { resourcesOf } from "../../staging/apimachinery/corev1/container-resources.js";
import { getPodQos } from "../../staging/apimachinery/corev1/qos.js";
import type { Init } from "../../staging/apimachinery/protobuf/fields.js";
import { milliValue, type ResourceList, unitValue } from "../../staging/apimachinery/quantity.js";
import type { LinuxContainerResources } from "../../staging/cri/messages/resources.js";
import { isCriticalPod } from "../types/pod-update.js";

type Resources = Init<typeof LinuxContainerResources>;

/** pkg/kubelet/cm/helpers_linux.go */
const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const SHARES_PER_CPU = 1024;
const QUOTA_PERIOD_US = 100_000;
const MIN_QUOTA_US = 1_000;

/** pkg/kubelet/qos/policy.go */
const GUARANTEED_OOM_SCORE_ADJ = -997;
const BEST_EFFORT_OOM_SCORE_ADJ = 1000;

const _SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

export interface ResourceOptions {
  readonly cpuCfsQuota: boolean;
  readonly memoryCapacityBytes: number;
}

/** Mirrors MilliCPUToShares. */
export function milliCpuToShares(milliCpu: number): number {
  if (milliCpu === 0) return MIN_SHARES;
  return Math.min(Math.max(Math.trunc((milliCpu * SHARES_PER_CPU) / 1000), MIN_SHARES), MAX_SHARES);
}

/** Microseconds per period; 0: no limit. Mirrors MilliCPUToQuota. */
export function milliCpuToQuota(milliCpu: number): number {
  return milliCpu === 0 ? 0 : Math.max(Math.trunc((milliCpu * QUOTA_PERIOD_US) / 1000), MIN_QUOTA_US);
}

/**
 * A container's share of the node.
 * Mirrors generateLinuxContainerResources in pkg/kubelet/kuberuntime/kuberuntime_container_linux.go. No huge pages.
 */
export function generateLinuxContainerResources(
  pod: V1Pod,
  container: ContainerSpec,
  options: ResourceOptions,
): Resources {
  const { requests, limits } = resourcesOf(container);
  return {
    ...calculateLinuxResources(amountsOf(requests), amountsOf(limits), options.cpuCfsQuota),
    oomScoreAdj: oomScoreAdjust(pod, container, options.memoryCapacityBytes),
  };
}

interface Amounts {
  readonly milliCpu: number;
  readonly memoryBytes: number;
}

function amountsOf(list: ResourceList): Amounts {
  return { milliCpu: milliValue(list["cpu"]), memoryBytes: unitValue(list["memory"]) };
}

/**
 * The resources of a pod's containers together: their sum, or those of the largest init container.
 * Mirrors calculateSandboxResources in pkg/kubelet/kuberuntime/kuberuntime_sandbox_linux.go.
 */
export function calculateSandboxResources(pod: V1Pod, cpuCfsQuota: boolean): Resources {
  const total = (kind: "requests" | "limits"): Amounts => {
    const of = (container: ContainerSpec) => amountsOf(resourcesOf(container)[kind]);
    const all = containersOf(pod).map(of);
    const inits = initContainersOf(pod).map(of);
    const most = (name: keyof Amounts) =>
      Math.max(
        all.reduce((sum, amounts) => sum + amounts[name], 0),
        ...inits.map((amounts) => amounts[name]),
      );
    return { milliCpu: most("milliCpu"), memoryBytes: most("memoryBytes") };
  };
  return calculateLinuxResources(total("requests"), total("limits"), cpuCfsQuota);
}

/** The pod's overhead; undefined: none. Mirrors applySandboxResources. */
export function overheadResources(pod: V1Pod, cpuCfsQuota: boolean): Resources | undefined {
  const { overhead } = pod.spec;
  if (overhead === undefined || overhead === null) return undefined;
  return calculateLinuxResources(amountsOf(overhead), amountsOf(overhead), cpuCfsQuota);
}

/** Mirrors calculateLinuxResources. */
function calculateLinuxResources(requests: Amounts, limits: Amounts, cpuCfsQuota: boolean): Resources {
  return {
    cpuShares: milliCpuToShares(requests.milliCpu === 0 ? limits.milliCpu : requests.milliCpu),
    ...(limits.memoryBytes === 0 ? {} : { memoryLimitInBytes: limits.memoryBytes }),
    ...(cpuCfsQuota ? { cpuQuota: milliCpuToQuota(limits.milliCpu), cpuPeriod: QUOTA_PERIOD_US } : {}),
  };
}

/**
 * The OOM score adjustment: the higher, the sooner the kernel kills the container when memory runs out.
 * Mirrors GetContainerOOMScoreAdjust in pkg/kubelet/qos/policy.go.
 */
export function oomScoreAdjust(pod: V1Pod, container: ContainerSpec, memoryCapacityBytes: number): number {
  if (isNodeCriticalPod(pod)) return GUARANTEED_OOM_SCORE_ADJ;
  const qosClass = getPodQos(pod.spec);
  if (qosClass === "Guaranteed") return GUARANTEED_OOM_SCORE_ADJ;
  if (qosClass === "BestEffort") return BEST_EFFORT_OOM_SCORE_ADJ;
  const memoryRequest = unitValue(resourcesOf(container).requests["memory"]);
  const adjust = 1000 - Math.trunc((1000 * memoryRequest) / Math.max(memoryCapacityBytes, 1));
  // Burstable pods stay between guaranteed and best-effort ones.
  if (adjust < 1000 + GUARANTEED_OOM_SCORE_ADJ) return 1000 + GUARANTEED_OOM_SCORE_ADJ;
  return adjust === BEST_EFFORT_OOM_SCORE_ADJ ? adjust - 1 : adjust;
}

/** Mirrors IsNodeCriticalPod in pkg/kubelet/types/pod_update.go. */
function isNodeCriticalPod(pod: V1Pod): boolean {
  return isCriticalPod(pod) && pod.spec.priorityClassName === "system-node-critical";
}
