/** A stage of a feature. Mirrors PreRelease, Default and LockToDefault of FeatureSpec in k8s.io/component-base/featuregate. */
type Stage = "alpha" | "beta" | "beta, off" | "deprecated" | "GA" | "locked";

/**
 * The feature gates of a kubelet v1.25, by stage.
 *
 * Mirrors pkg/features/kube_features.go, k8s.io/apiserver/pkg/features/kube_features.go and k8s.io/component-base/logs/api/v1.
 */
const GATES: Readonly<Record<Stage, string>> = {
  alpha: `APIServerIdentity APIServerTracing CPUManagerPolicyAlphaOptions CSIMigrationRBD CSINodeExpandSecret CSIVolumeHealth
    ContainerCheckpoint ContextualLogging CustomCPUCFSQuotaPeriod DisableCloudProviders DisableKubeletCloudCredentialProviders
    ExpandedDNSConfig HPAContainerMetrics HPAScaleToZero HonorPVReclaimPolicy IPTablesOwnershipCleanup InTreePluginAWSUnregister
    InTreePluginAzureDiskUnregister InTreePluginAzureFileUnregister InTreePluginGCEUnregister InTreePluginPortworxUnregister
    InTreePluginRBDUnregister InTreePluginvSphereUnregister JobPodFailurePolicy KMSv2 KubeletInUserNamespace KubeletTracing
    LocalStorageCapacityIsolationFSQuotaMonitoring LoggingAlphaOptions MatchLabelKeysInPodTopologySpread MaxUnavailableStatefulSet
    MemoryQoS MultiCIDRRangeAllocator NetworkPolicyStatus NodeInclusionPolicyInPodTopologySpread NodeOutOfServiceVolumeDetach NodeSwap
    PodAndContainerStatsFromCRI PodDisruptionConditions PodHasNetworkCondition ProcMountType ProxyTerminatingEndpoints QOSReserved
    ReadWriteOncePod RecoverVolumeExpansionFailure RetroactiveDefaultStorageClass SELinuxMountReadWriteOncePod StatefulSetAutoDeletePVC
    StorageVersionAPI UserNamespacesStatelessPodsSupport VolumeCapacityPriority WinDSR`,
  beta: `APIListChunking APIPriorityAndFairness APIResponseCompression AnyVolumeDataSource AppArmor CPUManager
    CPUManagerPolicyBetaOptions CPUManagerPolicyOptions CSIMigrationAzureFile CSIMigrationvSphere CronJobTimeZone
    CustomResourceValidationExpressions DelegateFSGroupToCSIDriver DevicePlugins DownwardAPIHugePages EndpointSliceTerminatingCondition
    GRPCContainerProbe GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority JobMutableNodeSchedulingDirectives JobReadyPods
    JobTrackingWithFinalizers KubeletCredentialProviders KubeletPodResources KubeletPodResourcesGetAllocatable
    LegacyServiceAccountTokenNoAutoGeneration LogarithmicScaleDown LoggingBetaOptions MemoryManager MixedProtocolLBService OpenAPIEnums
    OpenAPIV3 PodDeletionCost ProbeTerminationGracePeriod RemainingItemCount RotateKubeletServerCertificate SeccompDefault
    ServerSideFieldValidation ServiceIPStaticSubrange ServiceInternalTrafficPolicy SizeMemoryBackedVolumes StorageVersionHash
    TopologyAwareHints TopologyManager WinOverlay WindowsHostProcessContainers`,
  "beta, off": "CSIMigrationPortworx ExperimentalHostUserNamespaceDefaulting MinDomainsInPodTopologySpread",
  deprecated: "DynamicKubeletConfig",
  GA: "AdvancedAuditing ExecProbeTimeout ExpandCSIVolumes ExpandInUsePersistentVolumes ExpandPersistentVolumes ServerSideApply",
  locked: `CSIInlineVolume CSIMigration CSIMigrationAWS CSIMigrationAzureDisk CSIMigrationGCE CSIStorageCapacity
    ControllerManagerLeaderMigration DaemonSetUpdateSurge DefaultPodTopologySpread DisableAcceleratorUsageMetrics DryRun
    EfficientWatchResumption EphemeralContainers IdentifyPodOS IndexedJob LocalStorageCapacityIsolation NetworkPolicyEndPort
    NonPreemptingPriority PodAffinityNamespaceSelector PodOverhead PodSecurity PreferNominatedNode RemoveSelfLink
    ServiceLBNodePortControl ServiceLoadBalancerClass StatefulSetMinReadySeconds SuspendJob WatchBookmark`,
};

const STAGES = new Map<string, Stage>(
  (Object.entries(GATES) as [Stage, string][]).flatMap(([stage, names]) =>
    names.split(/\s+/).map((name): [string, Stage] => [name, stage]),
  ),
);

/** The release whose gates are known. Those of later releases are taken by their names. */
const RELEASE = "1.25";

/** The gates of `featureGates` that decide what this kubelet does, or which of the fields that it acts on it accepts. */
const EFFECTIVE: ReadonlySet<string> = new Set([
  "GracefulNodeShutdown",
  "GracefulNodeShutdownBasedOnPodPriority",
  "RotateKubeletServerCertificate",
]);

type Gates = Readonly<Record<string, boolean>>;

/**
 * What is wrong with `featureGates`; undefined: nothing. As upstream, the first problem only.
 * Mirrors SetFromMap in k8s.io/component-base/featuregate/feature_gate.go.
 */
export function featureGatesProblem(gates: Gates, kubeVersion: string): string | undefined {
  if (kubeVersion !== RELEASE) return undefined;
  for (const [name, value] of Object.entries(gates)) {
    if (name === "AllAlpha" || name === "AllBeta") continue;
    const stage = STAGES.get(name);
    if (stage === undefined) return `unrecognized feature gate: ${name}`;
    if (stage === "locked" && !value) {
      return `cannot set feature gate ${name} to false, feature is locked to true`;
    }
  }
  return undefined;
}

/** A gate's value: its own, or that of all gates of its stage, or `byDefault`. Mirrors setUnsetAlphaGates and setUnsetBetaGates. */
export function isGateEnabled(gates: Gates, name: string, byDefault: boolean): boolean {
  const stage = STAGES.get(name);
  const ofStage =
    stage === "alpha" ? gates["AllAlpha"] : stage?.startsWith("beta") === true ? gates["AllBeta"] : undefined;
  return gates[name] ?? ofStage ?? byDefault;
}

/** The gates that this kubelet accepts and does not act on. */
export function gatesWithoutEffect(gates: Gates = {}): string[] {
  return Object.keys(gates).filter((name) => !EFFECTIVE.has(name));
}
