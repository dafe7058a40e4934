import assert from "node:assert/strict";
import { test } from "vitest";
import { setDefaults } from "../../../../src/kubelet/apis/config/defaults.js";
import type { KubeletConfigurationFields } from "../../../../src/kubelet/apis/config/fields.js";
import { validateKubeletConfiguration } from "../../../../src/kubelet/apis/config/validation.js";

type Row = readonly [fields: KubeletConfigurationFields, ...problems: string[]];

/** The cases of upstream's validation_test.go, and what several faults give together. */
const table: readonly Row[] = [
  [{ nodeLeaseDurationSeconds: -1 }, "nodeLeaseDurationSeconds must be greater than 0"],
  [
    { cgroupsPerQOS: false, enforceNodeAllocatable: ["pods"] },
    "enforceNodeAllocatable (--enforce-node-allocatable) is not supported unless cgroupsPerQOS (--cgroups-per-qos) is set to true",
  ],
  [
    { systemCgroups: "/" },
    "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified",
  ],
  [{ eventBurst: -1 }, "eventBurst (--event-burst) -1 must not be a negative number"],
  [{ eventRecordQPS: -1 }, "eventRecordQPS (--event-qps) -1 must not be a negative number"],
  [{ healthzPort: 65_536 }, "healthzPort (--healthz-port) 65536 must be between 1 and 65535, inclusive"],
  [{ healthzPort: 0 }],
  [
    { cpuCFSQuotaPeriod: "200ms" },
    "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {200ms} requires feature gate CustomCPUCFSQuotaPeriod",
  ],
  [
    { cpuCFSQuotaPeriod: "2s", featureGates: { CustomCPUCFSQuotaPeriod: true } },
    "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {2s} must be between 1usec and 1sec, inclusive",
  ],
  [
    { imageGCHighThresholdPercent: 101 },
    "imageGCHighThresholdPercent (--image-gc-high-threshold) 101 must be between 0 and 100, inclusive",
  ],
  [
    { imageGCHighThresholdPercent: 0, imageGCLowThresholdPercent: 0 },
    "imageGCLowThresholdPercent (--image-gc-low-threshold) 0 must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 0",
  ],
  [
    { imageGCLowThresholdPercent: -1 },
    "imageGCLowThresholdPercent (--image-gc-low-threshold) -1 must be between 0 and 100, inclusive",
  ],
  [
    { iptablesMasqueradeBit: -1 },
    "iptablesMasqueradeBit (--iptables-masquerade-bit) -1 must be between 0 and 31, inclusive",
  ],
  [{ kubeAPIBurst: -1 }, "kubeAPIBurst (--kube-api-burst) -1 must not be a negative number"],
  [{ kubeAPIQPS: -1 }, "kubeAPIQPS (--kube-api-qps) -1 must not be a negative number"],
  [{ maxOpenFiles: -1 }, "maxOpenFiles (--max-open-files) -1 must not be a negative number"],
  [{ podsPerCore: -1 }, "podsPerCore (--pods-per-core) -1 must not be a negative number"],
  [{ registryBurst: -1 }, "registryBurst (--registry-burst) -1 must not be a negative number"],
  [{ registryPullQPS: -1 }, "registryPullQPS (--registry-qps) -1 must not be a negative number"],
  [{ iptablesDropBit: 32 }, "iptablesDropBit (--iptables-drop-bit) 32 must be between 0 and 31, inclusive"],
  [{ nodeStatusMaxImages: -2 }, "nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater"],
  [{ maxPods: -1 }, "maxPods (--max-pods) -1 must not be a negative number"],
  [{ oomScoreAdj: 1001 }, "oomScoreAdj (--oom-score-adj) 1001 must be between -1000 and 1000, inclusive"],
  [{ port: 65_536 }, "port (--port) 65536 must be between 1 and 65535, inclusive"],
  [{ readOnlyPort: 65_536 }, "readOnlyPort (--read-only-port) 65536 must be between 0 and 65535, inclusive"],
  [{ maxParallelImagePulls: 0 }, "maxParallelImagePulls 0 must be a positive number"],
  [
    { maxParallelImagePulls: 3, serializeImagePulls: true },
    "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false",
  ],
  [
    { serverTLSBootstrap: true, featureGates: { RotateKubeletServerCertificate: false } },
    "serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate",
  ],
  [
    { topologyManagerPolicy: "invalid-policy" },
    'topologyManagerPolicy (--topology-manager-policy) "invalid-policy" must be one of: ["none" "best-effort" "restricted" "single-numa-node"]',
  ],
  [
    { topologyManagerScope: "invalid-scope" },
    'topologyManagerScope (--topology-manager-scope) "invalid-scope" must be one of: "container", or "pod"',
  ],
  [
    { topologyManagerPolicy: "restricted", featureGates: { TopologyManager: false } },
    "topologyManagerPolicy restricted requires feature gate TopologyManager",
  ],
  [
    { topologyManagerScope: "pod", featureGates: { AllBeta: false } },
    "topologyManagerScope pod requires feature gate TopologyManager",
  ],
  [
    { shutdownGracePeriod: "2s", shutdownGracePeriodCriticalPods: "1ms" },
    "shutdownGracePeriodCriticalPods {1ms} must be either zero or otherwise >= 1 sec",
  ],
  [
    {
      shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 1 }],
      featureGates: { GracefulNodeShutdownBasedOnPodPriority: false },
    },
    "Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority",
  ],
  [
    { enforceNodeAllocatable: ["kube-reserved"] },
    'kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "kube-reserved" contained in enforceNodeAllocatable (--enforce-node-allocatable)',
  ],
  [{ reservedSystemCPUs: "0-3,8" }],
  [
    { reservedSystemCPUs: "0-3,x" },
    'unable to parse reservedSystemCPUs (--reserved-cpus) 0-3,x, error: strconv.Atoi: parsing "x": invalid syntax',
  ],
  [{ reservedMemory: [{ numaNode: 0, limits: { memory: "1Gi", "hugepages-2Mi": "4Mi" } }] }],
  [
    { reservedMemory: [{ numaNode: 1, limits: { cpu: "1", memory: "0" } }] },
    'the limit type "cpu" for NUMA node 1 is not supported, only [memory hugepages-<HugePageSize>] is accepted',
    'reserved memory may not be zero for NUMA node 1 and resource "memory"',
  ],
  [
    {
      reservedMemory: [
        { numaNode: 0, limits: { memory: "1Gi" } },
        { numaNode: 1, limits: { memory: "1Gi" } },
        { numaNode: 0, limits: { memory: "2Gi" } },
      ],
    },
    'the reserved memory has a duplicate value for NUMA node 0 and resource "memory"',
  ],
  [
    { shutdownGracePeriod: "1s", shutdownGracePeriodCriticalPods: "2s" },
    "shutdownGracePeriodCriticalPods {2s} must be <= shutdownGracePeriod {1s}",
  ],
  [{ shutdownGracePeriod: "1ms" }, "shutdownGracePeriod {1ms} must be either zero or otherwise >= 1 sec"],
  [
    { shutdownGracePeriod: "1s", featureGates: { GracefulNodeShutdown: false } },
    "specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown",
  ],
  [
    {
      shutdownGracePeriod: "30s",
      shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 0 }],
    },
    "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time",
  ],
  [
    { memorySwap: { swapBehavior: "LimitedSwap" } },
    "memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled",
  ],
  [
    { memorySwap: { swapBehavior: "most" }, featureGates: { NodeSwap: true } },
    'memorySwap.swapBehavior "most" must be one of: "", "LimitedSwap", or "UnlimitedSwap"',
  ],
  [{ memoryThrottlingFactor: 1.1 }, "memoryThrottlingFactor 1.1 must be greater than 0 and less than or equal to 1.0"],
  [
    { enforceNodeAllocatable: ["system-reserved"] },
    'systemReservedCgroup (--system-reserved-cgroup) must be specified when "system-reserved" contained in enforceNodeAllocatable (--enforce-node-allocatable)',
  ],
  [
    { enforceNodeAllocatable: ["none", "pods"] },
    'enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements when "none" is specified',
  ],
  [
    { enforceNodeAllocatable: ["x"] },
    'option "x" specified for enforceNodeAllocatable (--enforce-node-allocatable). Valid options are "pods", "system-reserved", "kube-reserved", or "none"',
  ],
  [
    { hairpinMode: "x" },
    'option "x" specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"',
  ],
  [
    { reservedSystemCPUs: "0-3", kubeReservedCgroup: "/k" },
    "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
  ],
  [
    { tracing: { samplingRatePerMillion: 1 } },
    "tracing should not be configured if KubeletTracing feature flag is disabled.",
  ],
  [
    { maxPods: -1, port: -5, eventBurst: -2 },
    "eventBurst (--event-burst) -2 must not be a negative number",
    "maxPods (--max-pods) -1 must not be a negative number",
    "port (--port) -5 must be between 1 and 65535, inclusive",
  ],
];
for (const [fields, ...problems] of table) {
  test(`config: ${JSON.stringify(fields)}: ${problems.join("; ") || "valid"}`, () => {
    assert.deepEqual(
      validateKubeletConfiguration(setDefaults(fields, "1.25"), "1.25"),
      problems.map((problem) => `invalid configuration: ${problem}`),
    );
  });
}

test("config: taints are checked, and none has a time", () => {
  const registerWithTaints = [
    { key: "dedicated", value: "db", effect: "NoSchedule" },
    { key: "a b", effect: "NoSchedule" },
    { key: "k", effect: "Never" },
    { key: "k", effect: "NoExecute", timeAdded: "2024-01-31T10:00:00Z" },
  ];
  assert.deepEqual(validateKubeletConfiguration(setDefaults({ registerWithTaints }, "1.25"), "1.25"), [
    "invalid taint: {a b  NoSchedule <nil>}",
    "invalid taint: {k  Never <nil>}",
    "invalid configuration: taint.TimeAdded is not nil",
  ]);
});

/** Messages that do not begin with "invalid configuration". */
const others: readonly (readonly [string, KubeletConfigurationFields, ...string[]])[] = [
  ["1.25", { featureGates: { NoSuchGate: true }, maxPods: -1 }, "unrecognized feature gate: NoSuchGate"],
  [
    "1.25",
    { featureGates: { EphemeralContainers: false } },
    "cannot set feature gate EphemeralContainers to false, feature is locked to true",
  ],
  ["1.25", { featureGates: { EphemeralContainers: true, AllAlpha: false, WinDSR: true } }],
  // Only the gates of v1.25 are known by their names.
  ["1.30", { featureGates: { NoSuchGate: true } }],
  ["1.25", { showHiddenMetricsForVersion: "1.24" }],
  [
    "1.25",
    { showHiddenMetricsForVersion: "1.20" },
    "--show-hidden-metrics-for-version must be omitted or have the value '1.24'. Only the previous minor version is allowed",
  ],
  ["1.25", { logging: { format: "json" } }],
  ["1.25", { logging: { format: "xml" } }, 'logging.format: Invalid value: "xml": Unsupported log format'],
  [
    "1.25",
    { logging: { format: "json", verbosity: 2 ** 31, vmodule: [{ filePattern: "a", verbosity: 1 }] } },
    "logging.verbosity: Invalid value: 0x80000000: Must be <= 2147483647",
    "logging.vmodule: Forbidden: Only supported for text log format",
  ],
  ["1.25", { featureGates: { KubeletTracing: true }, tracing: { endpoint: "localhost:4317" } }],
  [
    "1.25",
    { featureGates: { AllAlpha: true }, tracing: { endpoint: "ftp://x", samplingRatePerMillion: -1 } },
    "tracing.samplingRatePerMillion: Invalid value: -1: sampling rate must be positive",
    'tracing.endpoint: Invalid value: "ftp://x": unsupported scheme: ftp.  Options are none, dns, or unix',
  ],
  [
    "1.27",
    { tracing: { samplingRatePerMillion: 1_000_001 } },
    "tracing.samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million",
  ],
];
for (const [kubeVersion, fields, ...problems] of others) {
  test(`config: v${kubeVersion}: ${JSON.stringify(fields)}: ${problems.join("; ") || "valid"}`, () => {
    assert.deepEqual(validateKubeletConfiguration(setDefaults(fields, kubeVersion), kubeVersion), problems);
  });
}
