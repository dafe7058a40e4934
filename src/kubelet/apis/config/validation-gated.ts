import { parseGoDuration } from "../../../staging/apimachinery/time.js";
import { INVALID, isOutside, type Rules } from "./validation-rules.js";

/** Fields that a feature gate decides about. Mirrors their part of ValidateKubeletConfiguration in pkg/kubelet/apis/config/validation/validation.go. */

const DEFAULT_CFS_PERIOD_MS = 100;

/** A metav1.Duration as Go's `%v` prints it: a struct. */
function inBraces(duration: string): string {
  return `{${duration}}`;
}

/** `cpuCFSQuotaPeriod`: only the gate allows another one. */
export function checkCfsPeriod({ kc, enabled, when }: Rules): void {
  const period = kc.cpuCFSQuotaPeriod;
  const isEnabled = enabled("CPUCFSQuotaPeriod");
  const ms = parseGoDuration(period);
  const name = "cpuCFSQuotaPeriod (--cpu-cfs-quota-period)";
  when(
    !isEnabled && ms !== DEFAULT_CFS_PERIOD_MS,
    `${INVALID} ${name} ${inBraces(period)} requires feature gate CustomCPUCFSQuotaPeriod`,
  );
  when(
    isEnabled && isOutside(ms, 0.001, 1_000),
    `${INVALID} ${name} ${inBraces(period)} must be between 1usec and 1sec, inclusive`,
  );
}

const TOPOLOGY_POLICIES = ["none", "best-effort", "restricted", "single-numa-node"];

/** The topology manager. */
export function checkTopology({ kc, enabled, when }: Rules): void {
  const { topologyManagerPolicy: policy, topologyManagerScope: scope } = kc;
  const isOff = !enabled("TopologyManager");
  when(isOff && policy !== "none", `${INVALID} topologyManagerPolicy ${policy} requires feature gate TopologyManager`);
  when(
    isOff && scope !== "container",
    `${INVALID} topologyManagerScope ${scope} requires feature gate TopologyManager`,
  );
  when(
    !TOPOLOGY_POLICIES.includes(policy),
    `${INVALID} topologyManagerPolicy (--topology-manager-policy) ${JSON.stringify(policy)} must be one of: [${TOPOLOGY_POLICIES.map((one) => JSON.stringify(one)).join(" ")}]`,
  );
  when(
    scope !== "container" && scope !== "pod",
    `${INVALID} topologyManagerScope (--topology-manager-scope) ${JSON.stringify(scope)} must be one of: "container", or "pod"`,
  );
}

/** Graceful node shutdown. */
export function checkShutdown({ kc, enabled, when }: Rules): void {
  const { shutdownGracePeriod: total, shutdownGracePeriodCriticalPods: critical } = kc;
  const [totalMs, criticalMs] = [parseGoDuration(total), parseGoDuration(critical)];
  const isTooShort = (ms: number) => ms < 0 || (ms > 0 && ms < 1_000);
  const isOn = enabled("GracefulNodeShutdown");
  const rule = "must be either zero or otherwise >= 1 sec";
  when(
    isOn && criticalMs > totalMs,
    `${INVALID} shutdownGracePeriodCriticalPods ${inBraces(critical)} must be <= shutdownGracePeriod ${inBraces(total)}`,
  );
  when(isOn && isTooShort(totalMs), `${INVALID} shutdownGracePeriod ${inBraces(total)} ${rule}`);
  when(isOn && isTooShort(criticalMs), `${INVALID} shutdownGracePeriodCriticalPods ${inBraces(critical)} ${rule}`);
  const isSet = totalMs > 0 || criticalMs > 0;
  when(
    !isOn && isSet,
    `${INVALID} specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown`,
  );
  if ((kc.shutdownGracePeriodByPodPriority ?? []).length === 0) return;
  const isByPriority = enabled("GracefulNodeShutdownBasedOnPodPriority");
  when(
    isByPriority && isSet,
    `${INVALID} Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time`,
  );
  when(
    !isByPriority,
    `${INVALID} Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority`,
  );
}

/** Other fields that need a feature gate. */
export function checkGated({ kc, enabled, when }: Rules): void {
  const { swapBehavior = "" } = kc.memorySwap;
  when(
    kc.serverTLSBootstrap === true && !enabled("RotateKubeletServerCertificate"),
    `${INVALID} serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate`,
  );
  when(
    enabled("NodeSwap") && !["", "LimitedSwap", "UnlimitedSwap"].includes(swapBehavior),
    `${INVALID} memorySwap.swapBehavior ${JSON.stringify(swapBehavior)} must be one of: "", "LimitedSwap", or "UnlimitedSwap"`,
  );
  when(
    !enabled("NodeSwap") && swapBehavior !== "",
    `${INVALID} memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled`,
  );
}
