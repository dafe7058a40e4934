import type { ConfigField } from "./fields.js";

/** What this kubelet acts on. The other fields are of managers and of a machine that it does not have. */
const EFFECTIVE: ReadonlySet<ConfigField> = new Set([
  "staticPodPath",
  "syncFrequency",
  "fileCheckFrequency",
  "httpCheckFrequency",
  "staticPodURL",
  "staticPodURLHeader",
  "port",
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
  "cpuCFSQuota",
  "nodeStatusMaxImages",
  "serializeImagePulls",
  "imageMinimumGCAge",
  "imageGCHighThresholdPercent",
  "imageGCLowThresholdPercent",
  "evictionHard",
  "evictionSoft",
  "evictionSoftGracePeriod",
  "evictionPressureTransitionPeriod",
  "evictionMaxPodGracePeriod",
  "evictionMinimumReclaim",
  "enforceNodeAllocatable",
  "localStorageCapacityIsolation",
  "containerLogMaxSize",
  "containerLogMaxFiles",
  "systemReserved",
  "kubeReserved",
  "providerID",
  "registerWithTaints",
  "registerNode",
]);

/** The fields that this kubelet accepts and does not act on, in their order. */
export function withoutEffect(fields: readonly ConfigField[]): ConfigField[] {
  return fields.filter((field) => !EFFECTIVE.has(field));
}
