import type { Taint } from "../../../staging/apimachinery/api/node.js";
import { addToScheme } from "../../../staging/apimachinery/scheme/catalogue.js";
import type { TypeRows } from "../../../staging/apimachinery/scheme/schema.js";
import { goDuration, parseGoDuration } from "../../../staging/apimachinery/time.js";

/**
 * The fields of KubeletConfiguration, in the notation of the API's type tables; a `duration` is a string such as `1m30s`.
 * Mirrors staging/src/k8s.io/kubelet/config/v1beta1/types.go.
 */
const TYPES = {
  KubeletConfiguration: {
    TypeMeta: "inline",
    enableServer: "0 *bool",
    staticPodPath: "0 string",
    podLogsDir: "0 string",
    syncFrequency: "0 duration",
    fileCheckFrequency: "0 duration",
    httpCheckFrequency: "0 duration",
    staticPodURL: "0 string",
    staticPodURLHeader: "0 map:[]string",
    address: "0 string",
    port: "0 int32",
    readOnlyPort: "0 int32",
    tlsCertFile: "0 string",
    tlsPrivateKeyFile: "0 string",
    tlsCipherSuites: "0 []string",
    tlsMinVersion: "0 string",
    rotateCertificates: "0 bool",
    serverTLSBootstrap: "0 bool",
    authentication: "0 KubeletAuthentication",
    authorization: "0 KubeletAuthorization",
    registryPullQPS: "0 *int32",
    registryBurst: "0 int32",
    imagePullCredentialsVerificationPolicy: "0 string",
    preloadedImagesVerificationAllowlist: "0 []string",
    eventRecordQPS: "0 *int32",
    eventBurst: "0 int32",
    enableDebuggingHandlers: "0 *bool",
    enableContentionProfiling: "0 bool",
    healthzPort: "0 *int32",
    healthzBindAddress: "0 string",
    oomScoreAdj: "0 *int32",
    clusterDomain: "0 string",
    clusterDNS: "0 []string",
    streamingConnectionIdleTimeout: "0 duration",
    nodeStatusUpdateFrequency: "0 duration",
    nodeStatusReportFrequency: "0 duration",
    nodeLeaseDurationSeconds: "0 int32",
    imageMinimumGCAge: "0 duration",
    imageMaximumGCAge: "0 duration",
    imageGCHighThresholdPercent: "0 *int32",
    imageGCLowThresholdPercent: "0 *int32",
    volumeStatsAggPeriod: "0 duration",
    kubeletCgroups: "0 string",
    systemCgroups: "0 string",
    cgroupRoot: "0 string",
    cgroupsPerQOS: "0 *bool",
    cgroupDriver: "0 string",
    cpuManagerPolicy: "0 string",
    singleProcessOOMKill: "0 *bool",
    cpuManagerPolicyOptions: "0 map:string",
    cpuManagerReconcilePeriod: "0 duration",
    memoryManagerPolicy: "0 string",
    topologyManagerPolicy: "0 string",
    topologyManagerScope: "0 string",
    topologyManagerPolicyOptions: "0 map:string",
    qosReserved: "0 map:string",
    runtimeRequestTimeout: "0 duration",
    hairpinMode: "0 string",
    maxPods: "0 int32",
    podCIDR: "0 string",
    podPidsLimit: "0 *int64",
    resolvConf: "0 *string",
    runOnce: "0 bool",
    cpuCFSQuota: "0 *bool",
    cpuCFSQuotaPeriod: "0 *duration",
    nodeStatusMaxImages: "0 *int32",
    maxOpenFiles: "0 int64",
    contentType: "0 string",
    kubeAPIQPS: "0 *int32",
    kubeAPIBurst: "0 int32",
    serializeImagePulls: "0 *bool",
    maxParallelImagePulls: "0 *int32",
    evictionHard: "0 map:string",
    evictionSoft: "0 map:string",
    evictionSoftGracePeriod: "0 map:string",
    evictionPressureTransitionPeriod: "0 duration",
    evictionMaxPodGracePeriod: "0 int32",
    evictionMinimumReclaim: "0 map:string",
    mergeDefaultEvictionSettings: "0 *bool",
    podsPerCore: "0 int32",
    enableControllerAttachDetach: "0 *bool",
    protectKernelDefaults: "0 bool",
    makeIPTablesUtilChains: "0 *bool",
    iptablesMasqueradeBit: "0 *int32",
    iptablesDropBit: "0 *int32",
    featureGates: "0 map:bool",
    failSwapOn: "0 *bool",
    memorySwap: "0 MemorySwapConfiguration",
    containerLogMaxSize: "0 string",
    containerLogMaxFiles: "0 *int32",
    containerLogMaxWorkers: "0 *int32",
    containerLogMonitorInterval: "0 *duration",
    configMapAndSecretChangeDetectionStrategy: "0 string",
    systemReserved: "0 map:string",
    kubeReserved: "0 map:string",
    reservedSystemCPUs: "0 string",
    showHiddenMetricsForVersion: "0 string",
    systemReservedCgroup: "0 string",
    kubeReservedCgroup: "0 string",
    enforceNodeAllocatable: "0 []string",
    allowedUnsafeSysctls: "0 []string",
    volumePluginDir: "0 string",
    providerID: "0 string",
    kernelMemcgNotification: "0 bool",
    logging: "0 *any",
    enableSystemLogHandler: "0 *bool",
    enableSystemLogQuery: "0 *bool",
    shutdownGracePeriod: "0 duration",
    shutdownGracePeriodCriticalPods: "0 duration",
    shutdownGracePeriodByPodPriority: "0 []ShutdownGracePeriodByPodPriority",
    crashLoopBackOff: "0 *CrashLoopBackOffConfig",
    reservedMemory: "0 []MemoryReservation",
    enableProfilingHandler: "0 *bool",
    enableDebugFlagsHandler: "0 *bool",
    seccompDefault: "0 *bool",
    memoryThrottlingFactor: "0 *double",
    registerWithTaints: "0 []Taint",
    registerNode: "0 *bool",
    tracing: "0 *TracingConfiguration",
    localStorageCapacityIsolation: "0 *bool",
    containerRuntimeEndpoint: "0 string",
    imageServiceEndpoint: "0 string",
    failCgroupV1: "0 *bool",
    userNamespaces: "0 *any",
  },
  KubeletAuthentication: {
    x509: "0 KubeletX509Authentication",
    webhook: "0 KubeletWebhookAuthentication",
    anonymous: "0 KubeletAnonymousAuthentication",
  },
  KubeletX509Authentication: { clientCAFile: "0 string" },
  KubeletWebhookAuthentication: { enabled: "0 *bool", cacheTTL: "0 duration" },
  KubeletAnonymousAuthentication: { enabled: "0 *bool" },
  KubeletAuthorization: { mode: "0 string", webhook: "0 KubeletWebhookAuthorization" },
  KubeletWebhookAuthorization: { cacheAuthorizedTTL: "0 duration", cacheUnauthorizedTTL: "0 duration" },
  MemorySwapConfiguration: { swapBehavior: "0 string" },
  ShutdownGracePeriodByPodPriority: { priority: "0 int32!", shutdownGracePeriodSeconds: "0 int64!" },
  CrashLoopBackOffConfig: { maxContainerRestartPeriod: "0 *duration" },
  MemoryReservation: { numaNode: "0 int32!", limits: "0 ResourceList!" },
  TracingConfiguration: { endpoint: "0 *string", samplingRatePerMillion: "0 *int32" },
} as const;

addToScheme({ package: "io.k8s.kubelet.config.v1beta1", types: withDurationsAsStrings() });

function withDurationsAsStrings(): Record<string, TypeRows> {
  const types: Record<string, TypeRows> = TYPES;
  const rows = (row: TypeRows) => Object.entries(row).map(([name, text]) => [name, text.replace("duration", "string")]);
  return Object.fromEntries(Object.entries(types).map(([name, row]) => [name, Object.fromEntries(rows(row))]));
}

/**
 * Rewrites the durations of a decoded object as Go prints them: `60s` as `1m0s`. One of 0 counts as absent.
 * @throws DurationError
 */
export function canonicalDurations<T extends object>(fields: T, type: string = "KubeletConfiguration"): T {
  const types: Record<string, TypeRows> = TYPES;
  const out: [string, unknown][] = [];
  for (const [name, value] of Object.entries(fields)) {
    const word = types[type]?.[name]?.slice("0 ".length) ?? "";
    if (Object.hasOwn(types, word)) out.push([name, canonicalDurations(value as object, word)]);
    else if (!word.endsWith("duration") || typeof value !== "string") out.push([name, value]);
    else if (word.startsWith("*") || parseGoDuration(value) !== 0) out.push([name, goDuration(parseGoDuration(value))]);
  }
  return Object.fromEntries(out) as T;
}

type Types = typeof TYPES;
type Pointer<Word> = Word extends `*${infer Target}` ? Target : Word extends `${infer Value}!` ? Value : Word;
type ValueOf<Word> = Word extends `[]${infer Item}`
  ? readonly ValueOf<Item>[]
  : Word extends `map:${infer Value}`
    ? Readonly<Record<string, ValueOf<Value>>>
    : Word extends "string" | "duration"
      ? string
      : Word extends "bool"
        ? boolean
        : Word extends "int32" | "int64" | "double"
          ? number
          : Word extends keyof Types
            ? StructOf<Word>
            : Word extends keyof Foreign
              ? Foreign[Word]
              : unknown;
type StructOf<Name extends keyof Types> = {
  readonly [Field in Exclude<keyof Types[Name], "TypeMeta">]?: ValueOf<
    Pointer<Types[Name][Field] extends `0 ${infer Word}` ? Word : never>
  >;
};

/** Types of the core group. */
interface Foreign {
  readonly Taint: Taint;
  readonly ResourceList: Readonly<Record<string, string>>;
}

/** A KubeletConfiguration as a file has it: any field may be absent. */
export type KubeletConfigurationFields = StructOf<"KubeletConfiguration">;
export type ConfigField = keyof KubeletConfigurationFields;

/** All fields, in the order of the type. */
export const CONFIG_FIELDS: readonly ConfigField[] = Object.keys(TYPES.KubeletConfiguration).filter(
  (name): name is ConfigField => name !== "TypeMeta",
);

/** The type of a field, in Go's words: `bool`, `int32`, `map:string`. @param path `maxPods`, `authentication.webhook.enabled` */
export function fieldType(path: string): string {
  const types: Record<string, TypeRows> = TYPES;
  const wordOf = (type: string, name: string) => (types[type]?.[name] ?? "").slice("0 ".length).replace("*", "");
  return path.split(".").reduce(wordOf, "KubeletConfiguration");
}

/** Fields that came after v1.25. An older kubelet does not know them. */
export const FIELD_SINCE: Readonly<Partial<Record<ConfigField, string>>> = {
  topologyManagerPolicyOptions: "1.26",
  containerRuntimeEndpoint: "1.27",
  imageServiceEndpoint: "1.27",
  maxParallelImagePulls: "1.27",
  enableSystemLogQuery: "1.27",
  imageMaximumGCAge: "1.29",
  podLogsDir: "1.30",
  containerLogMaxWorkers: "1.30",
  containerLogMonitorInterval: "1.30",
  failCgroupV1: "1.31",
  singleProcessOOMKill: "1.32",
  crashLoopBackOff: "1.32",
  imagePullCredentialsVerificationPolicy: "1.33",
  preloadedImagesVerificationAllowlist: "1.33",
  userNamespaces: "1.33",
  mergeDefaultEvictionSettings: "1.34",
};
