import { gatesWithoutEffect } from "./feature-gates.js";
import type { ConfigField } from "./fields.js";
import type { ConfigFile } from "./load.js";

/** What this kubelet acts on. The other fields are of managers and of a machine that it does not have. */
const EFFECTIVE: ReadonlySet<ConfigField> = new Set([
  "staticPodPath",
  "syncFrequency",
  "fileCheckFrequency",
  "httpCheckFrequency",
  "staticPodURL",
  "staticPodURLHeader",
  "port",
  "readOnlyPort",
  "healthzPort",
  "enableDebuggingHandlers",
  "enableSystemLogHandler",
  "tlsCertFile",
  "tlsPrivateKeyFile",
  "rotateCertificates",
  "serverTLSBootstrap",
  "authentication",
  "authorization",
  "clusterDomain",
  "clusterDNS",
  "nodeStatusUpdateFrequency",
  "nodeStatusReportFrequency",
  "nodeLeaseDurationSeconds",
  "runtimeRequestTimeout",
  "maxPods",
  "podsPerCore",
  "resolvConf",
  "cgroupsPerQOS",
  "cgroupDriver",
  "cpuCFSQuota",
  "nodeStatusMaxImages",
  "serializeImagePulls",
  "imageMinimumGCAge",
  "imageGCHighThresholdPercent",
  "imageGCLowThresholdPercent",
  "volumeStatsAggPeriod",
  "evictionHard",
  "evictionSoft",
  "evictionSoftGracePeriod",
  "evictionPressureTransitionPeriod",
  "evictionMaxPodGracePeriod",
  "evictionMinimumReclaim",
  "enforceNodeAllocatable",
  "allowedUnsafeSysctls",
  "localStorageCapacityIsolation",
  "containerLogMaxSize",
  "containerLogMaxFiles",
  "systemReserved",
  "kubeReserved",
  "providerID",
  "shutdownGracePeriod",
  "shutdownGracePeriodCriticalPods",
  "shutdownGracePeriodByPodPriority",
  "registerWithTaints",
  "registerNode",
]);

/** The fields that this kubelet accepts and does not act on, in their order; of the feature gates, each such gate. */
export function withoutEffect({ named, fields }: Pick<ConfigFile, "named" | "fields">): string[] {
  return named.flatMap((field) => {
    if (field === "featureGates") return gatesWithoutEffect(fields.featureGates).map((name) => `${field}.${name}`);
    return EFFECTIVE.has(field) ? [] : [field];
  });
}
