import { isAtLeast } from "../../../util/release/facts.js";
import type { KubeletConfigurationFields } from "./fields.js";

/** Mirrors DefaultEvictionHard in pkg/kubelet/apis/config/v1beta1/defaults_linux.go. */
const EVICTION_HARD = {
  "memory.available": "100Mi",
  "nodefs.available": "10%",
  "nodefs.inodesFree": "5%",
  "imagefs.available": "15%",
};

/** Those of v1.25. Durations are as Go prints them. */
const DEFAULTS = {
  enableServer: true,
  syncFrequency: "1m0s",
  fileCheckFrequency: "20s",
  httpCheckFrequency: "20s",
  address: "0.0.0.0",
  port: 10250,
  authentication: { x509: {}, webhook: { enabled: true, cacheTTL: "2m0s" }, anonymous: { enabled: false } },
  authorization: { mode: "Webhook", webhook: { cacheAuthorizedTTL: "5m0s", cacheUnauthorizedTTL: "30s" } },
  registryPullQPS: 5,
  registryBurst: 10,
  eventRecordQPS: 5,
  eventBurst: 10,
  enableDebuggingHandlers: true,
  healthzPort: 10248,
  healthzBindAddress: "127.0.0.1",
  oomScoreAdj: -999,
  streamingConnectionIdleTimeout: "4h0m0s",
  nodeStatusUpdateFrequency: "10s",
  nodeStatusReportFrequency: "5m0s",
  nodeLeaseDurationSeconds: 40,
  imageMinimumGCAge: "2m0s",
  imageGCHighThresholdPercent: 85,
  imageGCLowThresholdPercent: 80,
  volumeStatsAggPeriod: "1m0s",
  cgroupsPerQOS: true,
  cgroupDriver: "cgroupfs",
  cpuManagerPolicy: "none",
  cpuManagerReconcilePeriod: "10s",
  memoryManagerPolicy: "None",
  topologyManagerPolicy: "none",
  topologyManagerScope: "container",
  runtimeRequestTimeout: "2m0s",
  hairpinMode: "promiscuous-bridge",
  maxPods: 110,
  podPidsLimit: -1,
  resolvConf: "/etc/resolv.conf",
  cpuCFSQuota: true,
  cpuCFSQuotaPeriod: "100ms",
  nodeStatusMaxImages: 50,
  maxOpenFiles: 1_000_000,
  contentType: "application/vnd.kubernetes.protobuf",
  kubeAPIQPS: 5,
  kubeAPIBurst: 10,
  serializeImagePulls: true,
  evictionHard: EVICTION_HARD as Readonly<Record<string, string>>,
  evictionPressureTransitionPeriod: "5m0s",
  enableControllerAttachDetach: true,
  makeIPTablesUtilChains: true,
  iptablesMasqueradeBit: 14,
  iptablesDropBit: 15,
  failSwapOn: true,
  memorySwap: {},
  containerLogMaxSize: "10Mi",
  containerLogMaxFiles: 5,
  configMapAndSecretChangeDetectionStrategy: "Watch",
  enforceNodeAllocatable: ["pods"] as readonly string[],
  volumePluginDir: "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/",
  logging: {
    format: "text",
    flushFrequency: 5_000_000_000,
    verbosity: 0,
    options: { json: { infoBufferSize: "0" } },
  } as unknown,
  enableSystemLogHandler: true,
  shutdownGracePeriod: "0s",
  shutdownGracePeriodCriticalPods: "0s",
  enableProfilingHandler: true,
  enableDebugFlagsHandler: true,
  seccompDefault: false,
  memoryThrottlingFactor: 0.8,
  registerNode: true,
  localStorageCapacityIsolation: true,
} satisfies KubeletConfigurationFields;

/** What later releases changed or added, oldest first. */
const LATER_DEFAULTS: readonly (readonly [since: string, KubeletConfigurationFields])[] = [
  [
    "1.27",
    {
      eventRecordQPS: 50,
      eventBurst: 100,
      kubeAPIQPS: 50,
      kubeAPIBurst: 100,
      memoryThrottlingFactor: 0.9,
      containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    },
  ],
  ["1.29", { imageMaximumGCAge: "0s" }],
  [
    "1.30",
    {
      evictionHard: { ...EVICTION_HARD, "imagefs.inodesFree": "5%" },
      podLogsDir: "/var/log/pods",
      containerLogMaxWorkers: 1,
      containerLogMonitorInterval: "10s",
    },
  ],
  ["1.31", { failCgroupV1: false }],
  ["1.32", { crashLoopBackOff: {} }],
  ["1.34", { mergeDefaultEvictionSettings: false }],
];

type Defaults = Loosened<typeof DEFAULTS>;
/** `true` is boolean, `110` is number. */
type Loosened<T> = T extends boolean
  ? boolean
  : T extends number
    ? number
    : T extends string
      ? string
      : { readonly [Key in keyof T]: Loosened<T[Key]> };

/** The kubelet's configuration: every field that has a default is set. */
export type KubeletConfiguration = Omit<
  KubeletConfigurationFields,
  keyof Defaults | "authentication" | "authorization"
> &
  Omit<Defaults, "authentication" | "memorySwap"> & {
    readonly authentication: Defaults["authentication"] & { readonly x509: { readonly clientCAFile?: string } };
    readonly memorySwap: { readonly swapBehavior?: string };
  };

/**
 * Sets the fields that are absent. @param fields durations as Go prints them
 * Mirrors SetDefaults_KubeletConfiguration in pkg/kubelet/apis/config/v1beta1/defaults.go.
 */
export function setDefaults(fields: KubeletConfigurationFields, kubeVersion: string): KubeletConfiguration {
  const later = LATER_DEFAULTS.filter(([since]) => isAtLeast(kubeVersion, since)).map(([, changed]) => changed);
  const defaults: KubeletConfiguration = Object.assign({}, DEFAULTS, ...later);
  const { authentication, authorization, podPidsLimit = -1 } = fields;
  return {
    ...defaults,
    // For compatibility: a frequency of updates that is set is that of reports as well.
    ...(fields.nodeStatusUpdateFrequency === undefined
      ? {}
      : { nodeStatusReportFrequency: fields.nodeStatusUpdateFrequency }),
    serializeImagePulls: (fields.maxParallelImagePulls ?? 1) < 2,
    ...(fields as Partial<KubeletConfiguration>),
    podPidsLimit: podPidsLimit < 0 ? -1 : podPidsLimit,
    authentication: {
      x509: authentication?.x509 ?? {},
      webhook: { ...defaults.authentication.webhook, ...authentication?.webhook },
      anonymous: { ...defaults.authentication.anonymous, ...authentication?.anonymous },
    },
    authorization: {
      mode: authorization?.mode ?? defaults.authorization.mode,
      webhook: { ...defaults.authorization.webhook, ...authorization?.webhook },
    },
  };
}
