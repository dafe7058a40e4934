import { change, count, duration, fact, gate, type ReleaseFact, word } from "./fact.js";

const LIFECYCLE = "pkg/controller/nodelifecycle/config/v1alpha1/defaults.go";
const LIFECYCLE_FLAGS = "cmd/kube-controller-manager/app/options/nodelifecyclecontroller.go";
const KUBELET_DEFAULTS = "pkg/kubelet/apis/config/v1beta1/defaults.go";
const KUBELET = "pkg/kubelet/kubelet.go";
const LEASE = "staging/src/k8s.io/component-helpers/apimachinery/lease/controller.go";
const TAINT_SCHEDULER = "pkg/controller/nodelifecycle/scheduler/rate_limited_queue.go";
const PODGC = "pkg/controller/podgc/gc_controller.go";
const CLEANER = "pkg/controller/certificates/cleaner/cleaner.go";
const TOLERATIONS = "plugin/pkg/admission/defaulttolerationseconds/admission.go";
const EVENTS = "staging/src/k8s.io/client-go/tools/record/events_cache.go";
const RECORDER = "staging/src/k8s.io/client-go/tools/record/event.go";
const CERT_MANAGER = "staging/src/k8s.io/client-go/util/certificate/certificate_manager.go";
const BOOTSTRAP = "pkg/kubelet/certificate/bootstrap/bootstrap.go";
const EVICTION_MANAGER = "pkg/kubelet/eviction/eviction_manager.go";
const POD_WORKERS = "pkg/kubelet/pod_workers.go";
const SCHEDULING_QUEUE = "pkg/scheduler/internal/queue/scheduling_queue.go";
const NODE_STATUS = "pkg/kubelet/kubelet_node_status.go";
const CONTAINER = "pkg/kubelet/kuberuntime/kuberuntime_container.go";
const RUNTIME_MANAGER = "pkg/kubelet/kuberuntime/kuberuntime_manager.go";

/**
 * Every constant and behaviour that the chapters and the control plane quote. Durations are in ms, whatever unit
 * upstream's file has; names that end in Seconds are in seconds, as in the API.
 *
 * Feature gates are quoted with the release that changed their default, not with every stage.
 */
export const FACTS = {
  // Node heartbeats: what the kubelet promises ...
  leaseDurationSeconds: count("leaseDurationSeconds", KUBELET_DEFAULTS, "s", ["1.25", 40]),
  leaseRenewIntervalFraction: count("nodeLeaseRenewIntervalFraction", KUBELET, "", ["1.25", 0.25]),
  leaseRenewInterval: duration("renewInterval", KUBELET, ["1.25", 10_000]),
  leaseJitterFactor: count("JitterFactor", LEASE, "", ["1.25", 0.04]),
  leaseBackoffInitial: duration("backoffEnsureLease (first sleep)", LEASE, ["1.25", 200]),
  leaseBackoffMax: duration("maxBackoff", LEASE, ["1.25", 7_000]),
  leaseMaxUpdateRetries: count("maxUpdateRetries", LEASE, "attempts", ["1.25", 5]),
  nodeStatusUpdateFrequency: duration("nodeStatusUpdateFrequency", KUBELET_DEFAULTS, ["1.25", 10_000]),
  nodeStatusReportFrequency: duration("nodeStatusReportFrequency", KUBELET_DEFAULTS, ["1.25", 300_000]),
  nodeStatusReportJitter: fact(
    "nodeStatusReportFrequency jitter",
    NODE_STATUS,
    (value: number) => (value === 0 ? "none" : `±${value * 100} % once after a change`),
    [
      ["1.25", 0],
      ["1.34", 0.5],
    ],
  ),
  nodeStatusUpdateRetry: count("nodeStatusUpdateRetry", KUBELET, "attempts", ["1.25", 5]),
  registerBackoffInitial: duration("registerWithAPIServer (first sleep)", NODE_STATUS, ["1.25", 100]),
  registerBackoffMax: duration("registerWithAPIServer (maximum sleep)", NODE_STATUS, ["1.25", 7_000]),

  // ... and how the node lifecycle controller reacts.
  nodeMonitorGracePeriod: duration("nodeMonitorGracePeriod", LIFECYCLE, ["1.25", 40_000], ["1.32", 50_000]),
  nodeStartupGracePeriod: duration("nodeStartupGracePeriod", LIFECYCLE, ["1.25", 60_000]),
  nodeMonitorPeriod: duration("nodeMonitorPeriod", "staging/src/k8s.io/cloud-provider/config/v1alpha1/defaults.go", [
    "1.25",
    5_000,
  ]),
  nodeEvictionPeriod: duration("NodeEvictionPeriod", TAINT_SCHEDULER, ["1.25", 100]),
  nodeHealthUpdateRetry: count("NodeHealthUpdateRetry", TAINT_SCHEDULER, "attempts", ["1.25", 5]),
  nodeEvictionRate: count("nodeEvictionRate", LIFECYCLE_FLAGS, "nodes/s", ["1.25", 0.1]),
  secondaryNodeEvictionRate: count("secondaryNodeEvictionRate", LIFECYCLE_FLAGS, "nodes/s", ["1.25", 0.01]),
  evictionRateLimiterBurst: count("EvictionRateLimiterBurst", TAINT_SCHEDULER, "nodes", ["1.25", 1]),
  largeClusterSizeThreshold: count("largeClusterSizeThreshold", LIFECYCLE_FLAGS, "nodes", ["1.25", 50]),
  unhealthyZoneThreshold: count("unhealthyZoneThreshold", LIFECYCLE_FLAGS, "", ["1.25", 0.55]),
  podEvictionTimeoutFlag: word<"accepted, but has no effect" | "gone">(
    "--pod-eviction-timeout",
    LIFECYCLE_FLAGS,
    ["1.25", "accepted, but has no effect"],
    ["1.27", "gone"],
  ),
  taintEvictionComponent: word(
    "taint eviction's event source",
    "pkg/controller/nodelifecycle/scheduler/taint_manager.go",
    ["1.25", "taint-controller"],
    ["1.29", "taint-eviction-controller"],
  ),
  taintEvictionEventApiVersion: change(
    "an eviction event's involvedObject.apiVersion",
    "pkg/controller/nodelifecycle/scheduler/taint_manager.go",
    ["1.25", false, "missing"],
    ["1.29", true, "v1"],
  ),
  separateTaintEvictionController: gate("SeparateTaintEvictionController", ["1.25", false], ["1.29", true]),
  criV1alpha2: change(
    "kubelets speak CRI v1alpha2",
    "pkg/kubelet/cri/remote/remote_runtime.go",
    ["1.25", true, "if the runtime has no v1"],
    ["1.26", false, "no"],
  ),
  nodeSwap: gate("NodeSwap", ["1.25", false], ["1.30", true]),
  kubeletTracing: gate("KubeletTracing", ["1.25", false], ["1.27", true]),
  podDisruptionConditions: gate("PodDisruptionConditions", ["1.25", false], ["1.26", true]),
  pdbUnhealthyPodEvictionPolicy: gate("PDBUnhealthyPodEvictionPolicy", ["1.25", false], ["1.27", true]),
  defaultNotReadyTolerationSeconds: count("defaultNotReadyTolerationSeconds", TOLERATIONS, "s", ["1.25", 300]),
  defaultUnreachableTolerationSeconds: count("defaultUnreachableTolerationSeconds", TOLERATIONS, "s", ["1.25", 300]),
  defaultTolerationSeconds: count("defaultTolerationSeconds", TOLERATIONS, "s", ["1.25", 300]),

  // Collectors
  podGcCheckPeriod: duration("gcCheckPeriod", PODGC, ["1.25", 20_000]),
  podGcQuarantineTime: duration("quarantineTime", PODGC, ["1.25", 40_000]),
  terminatedPodGcThreshold: count(
    "terminatedPodGCThreshold",
    "pkg/controller/podgc/config/v1alpha1/defaults.go",
    "pods",
    ["1.25", 12_500],
  ),
  nodeOutOfServiceVolumeDetach: gate("NodeOutOfServiceVolumeDetach", ["1.25", false], ["1.26", true]),
  namespaceDeletionGracePeriod: duration(
    "namespaceDeletionGracePeriod",
    "pkg/controller/namespace/namespace_controller.go",
    ["1.25", 5_000],
  ),
  finalizerEstimateSeconds: count(
    "finalizerEstimateSeconds",
    "pkg/controller/namespace/deletion/namespaced_resources_deleter.go",
    "s",
    ["1.25", 15],
  ),
  orderedNamespaceDeletion: gate("OrderedNamespaceDeletion", ["1.25", false], ["1.33", true]),
  eventTtl: duration("event-ttl", "cmd/kube-apiserver/app/options/options.go", ["1.25", 3_600_000]),
  eventSpamBurst: count("defaultSpamBurst", EVENTS, "events", ["1.25", 25]),
  eventSpamInterval: duration("1/defaultSpamQPS", EVENTS, ["1.25", 300_000]),
  eventRecordQps: count("EventRecordQPS", KUBELET_DEFAULTS, "events/s", ["1.25", 5], ["1.27", 50]),
  eventBurst: count("EventBurst", KUBELET_DEFAULTS, "events", ["1.25", 10], ["1.27", 100]),
  eventAggregateMaxEvents: count("defaultAggregateMaxEvents", EVENTS, "events", ["1.25", 10]),
  eventAggregateInterval: duration("defaultAggregateIntervalInSeconds", EVENTS, ["1.25", 600_000]),
  eventMaxTries: count("maxTriesPerEvent", RECORDER, "attempts", ["1.25", 12]),
  eventRetryInterval: duration("defaultSleepDuration", RECORDER, ["1.25", 10_000]),
  eventReportingComponent: change(
    "Event.reportingComponent",
    RECORDER,
    ["1.25", false, "empty"],
    ["1.28", true, "same as the source"],
  ),
  nodeCidrMaskSize: count("nodeCIDRMaskSize", "cmd/kube-controller-manager/app/core.go", "bits", ["1.25", 24]),

  // Workloads
  statefulSetStartOrdinal: gate("StatefulSetStartOrdinal", ["1.25", false], ["1.27", true]),
  statefulSetAutoDeletePvc: gate("StatefulSetAutoDeletePVC", ["1.25", false], ["1.27", true]),
  podIndexLabel: gate("PodIndexLabel", ["1.25", false], ["1.28", true]),
  jobPodFailurePolicy: gate("JobPodFailurePolicy", ["1.25", false], ["1.26", true]),
  jobBackoffByFailures: change(
    "back-off of a job's failed pods",
    "pkg/controller/job/backoff_utils.go",
    ["1.25", false, "by failed syncs in a row"],
    ["1.27", true, "by failures since the last success"],
  ),
  jobPrefixedLabels: change(
    "labels of a job's pods",
    "pkg/registry/batch/job/strategy.go",
    ["1.25", false, "without a prefix"],
    ["1.27", true, "also with the prefix batch.kubernetes.io/"],
  ),

  // kube-proxy
  proxyMinSyncPeriod: duration("iptables.minSyncPeriod", "pkg/proxy/apis/config/v1alpha1/defaults.go", ["1.25", 1_000]),
  proxyTerminatingEndpoints: gate("ProxyTerminatingEndpoints", ["1.25", false], ["1.26", true]),

  // The scheduler
  podInitialBackoff: duration("DefaultPodInitialBackoffDuration", SCHEDULING_QUEUE, ["1.25", 1_000]),
  podMaxBackoff: duration("DefaultPodMaxBackoffDuration", SCHEDULING_QUEUE, ["1.25", 10_000]),
  podMaxInUnschedulablePods: duration("DefaultPodMaxInUnschedulablePodsDuration", SCHEDULING_QUEUE, ["1.25", 300_000]),
  minDomainsInPodTopologySpread: gate("MinDomainsInPodTopologySpread", ["1.25", false], ["1.27", true]),
  podSchedulingReadiness: gate("PodSchedulingReadiness", ["1.25", false], ["1.27", true]),
  preFilterReasonsAreCounted: change(
    "FitError of a pod that PreFilter rejects",
    "pkg/scheduler/framework/types.go",
    ["1.25", true, "names the reason once for each node"],
    ["1.26", false, "names the reason"],
  ),
  schedulerPopFromBackoffQ: gate("SchedulerPopFromBackoffQ", ["1.25", false], ["1.33", true]),
  fitTooBigIsUnresolvable: change(
    "status of a pod that exceeds the node's resources",
    "pkg/scheduler/framework/plugins/noderesources/fit.go",
    ["1.25", false, "Unschedulable"],
    ["1.34", true, "UnschedulableAndUnresolvable"],
  ),
  dynamicResourceAllocation: gate("DynamicResourceAllocation", ["1.25", false], ["1.34", true]),
  preemptedNote: word<"the pod" | "a pod" | "its uid">(
    "subject of the event Preempted",
    "pkg/scheduler/framework/preemption/preemption.go",
    ["1.25", "the pod"],
    ["1.27", "a pod"],
    ["1.29", "its uid"],
  ),

  // Certificate signing requests
  csrApprovedExpiration: duration("approvedExpiration", CLEANER, ["1.25", 3_600_000]),
  csrDeniedExpiration: duration("deniedExpiration", CLEANER, ["1.25", 3_600_000]),
  csrPendingExpiration: duration("pendingExpiration", CLEANER, ["1.25", 86_400_000]),
  csrCleanerPollingInterval: duration("pollingInterval", CLEANER, ["1.25", 3_600_000]),
  csrMinExpirationSeconds: count("expirationSeconds (least)", "pkg/apis/certificates/validation/validation.go", "s", [
    "1.25",
    600,
  ]),
  clusterSigningDuration: duration(
    "ClusterSigningDuration",
    "pkg/controller/certificates/signer/config/v1alpha1/defaults.go",
    ["1.25", 31_536_000_000],
  ),
  signerBackdate: duration("backdate", "pkg/controller/certificates/signer/signer.go", ["1.25", 300_000]),
  kubeletCsrKeyEncipherment: word<"always" | "only for RSA keys">(
    "key encipherment in a kubelet's CSR",
    BOOTSTRAP,
    ["1.25", "always"],
    ["1.27", "only for RSA keys"],
  ),
  allowDnsOnlyNodeCsr: gate("AllowDNSOnlyNodeCSR", ["1.25", true], ["1.31", false]),
  allowInsecureKubeletCsr: gate("AllowInsecureKubeletCertificateSigningRequests", ["1.25", true], ["1.31", false]),
  bootstrapCsrTimeout: duration("bootstrap CSR timeout", BOOTSTRAP, ["1.25", 3_600_000]),
  waitForServerTotal: duration("waitForServer", BOOTSTRAP, ["1.25", 60_000]),
  waitForServerPeriod: duration("waitForServer (period)", BOOTSTRAP, ["1.25", 2_000]),
  csrRotationTimeout: duration("certificateWaitTimeout", CERT_MANAGER, ["1.25", 900_000]),
  rotationDeadlineMin: count("jitteryDuration (minimum)", CERT_MANAGER, "of the lifetime", ["1.25", 0.7]),
  rotationDeadlineMax: count("jitteryDuration (maximum)", CERT_MANAGER, "of the lifetime", ["1.25", 0.9]),

  // Tokens
  bootstrapTokenTtl: duration("DefaultTokenDuration", "cmd/kubeadm/app/constants/constants.go", ["1.25", 86_400_000]),
  tokenCacheTtl: duration("TokenSuccessCacheTTL", "pkg/kubeapiserver/options/authentication.go", ["1.25", 10_000]),
  serviceAccountTokenJti: gate("ServiceAccountTokenJTI", ["1.25", false], ["1.30", true]),
  serviceAccountTokenPodNodeInfo: gate("ServiceAccountTokenPodNodeInfo", ["1.25", false], ["1.30", true]),
  serviceAccountTokenNodeBinding: gate("ServiceAccountTokenNodeBinding", ["1.25", false], ["1.31", true]),
  serviceAccountNodeAudienceRestriction: gate("ServiceAccountNodeAudienceRestriction", ["1.25", false], ["1.33", true]),

  // Rights
  adminGroup: word<"system:masters" | "kubeadm:cluster-admins">(
    "group of admin.conf",
    "cmd/kubeadm/app/phases/kubeconfig/kubeconfig.go",
    ["1.25", "system:masters"],
    ["1.29", "kubeadm:cluster-admins"],
  ),
  authorizeNodeWithSelectors: gate("AuthorizeNodeWithSelectors", ["1.25", false], ["1.32", true]),
  kubeletFineGrainedAuthz: gate("KubeletFineGrainedAuthz", ["1.25", false], ["1.33", true]),
  preventStaticPodApiReferences: gate("PreventStaticPodAPIReferences", ["1.25", false], ["1.34", true]),
  apiServerIdentity: gate("APIServerIdentity", ["1.25", false], ["1.26", true]),

  // Services
  serviceNodePortStaticSubrange: gate("ServiceNodePortStaticSubrange", ["1.25", false], ["1.28", true]),

  // Discovery
  aggregatedDiscovery: fact<readonly string[]>(
    "AggregatedDiscoveryEndpoint",
    "staging/src/k8s.io/apiserver/pkg/endpoints/discovery/aggregated/wrapper.go",
    (versions) => (versions.length === 0 ? "off" : versions.join(", ")),
    [
      ["1.25", []],
      ["1.27", ["v2beta1"]],
      ["1.30", ["v2", "v2beta1"]],
    ],
  ),

  // Watches
  watchList: gate("WatchList", ["1.25", false], ["1.32", true], ["1.33", false], ["1.34", true]),

  // Pods, PLEG and remote command
  podReadyToStartContainers: gate("PodReadyToStartContainersCondition", ["1.25", false], ["1.29", true]),
  podObservedGeneration: gate("PodObservedGenerationTracking", ["1.25", false], ["1.34", true]),
  sidecarContainers: gate("SidecarContainers", ["1.25", false], ["1.29", true]),
  deletedPodsEnd: change(
    "phase of a deleted pod (not static)",
    KUBELET,
    ["1.25", false, "unchanged"],
    ["1.27", true, "becomes Failed or Succeeded"],
  ),
  initContainerStarted: change(
    "status.started of an init container",
    "pkg/kubelet/prober/prober_manager.go",
    ["1.25", false, "missing"],
    ["1.28", true, "set as for other containers"],
  ),
  evictionMessageDetails: change(
    "message of an eviction",
    "pkg/kubelet/eviction/helpers.go",
    ["1.25", false, "without the threshold"],
    ["1.26", true, "with the threshold"],
  ),
  // With 0, the pod's own grace period applies.
  immediateEvictionGracePeriod: count(
    "immediateEvictionGracePeriodSeconds",
    EVICTION_MANAGER,
    "s",
    ["1.25", 0],
    ["1.31", 1],
  ),
  evictionMonitoringPeriod: duration("evictionMonitoringPeriod", KUBELET, ["1.25", 10_000]),
  plegRelistPeriod: duration("plegRelistPeriod", KUBELET, ["1.25", 1_000]),
  plegRelistThreshold: duration("relistThreshold", "pkg/kubelet/pleg/generic.go", ["1.25", 180_000]),
  eventedPleg: word<"missing" | "alpha, off">(
    "EventedPLEG",
    "pkg/features/kube_features.go",
    ["1.25", "missing"],
    ["1.26", "alpha, off"],
  ),
  eventedPlegRelistPeriod: duration("eventedPlegRelistPeriod", KUBELET, ["1.25", 300_000]),
  eventedPlegRelistThreshold: duration("eventedPlegRelistThreshold", KUBELET, ["1.25", 600_000]),
  eventedPlegMaxStreamRetries: count("eventedPlegMaxStreamRetries", KUBELET, "attempts", ["1.25", 5]),
  plegChannelCapacity: count("plegChannelCapacity", KUBELET, "events", ["1.25", 1_000]),
  globalCacheUpdatePeriod: duration("globalCacheUpdatePeriod", "pkg/kubelet/pleg/evented.go", ["1.25", 5_000]),
  podResyncInterval: duration("syncFrequency", KUBELET_DEFAULTS, ["1.25", 60_000]),
  podWorkerBackOffPeriod: duration("backOffPeriod", KUBELET, ["1.25", 10_000]),
  podWorkerResyncJitterFactor: count("workerResyncIntervalJitterFactor", POD_WORKERS, "", ["1.25", 0.5]),
  podWorkerBackOffJitterFactor: count("workerBackOffPeriodJitterFactor", POD_WORKERS, "", ["1.25", 0.5]),
  podWorkerTransientBackOffPeriod: duration("backOffOnTransientErrorPeriod", POD_WORKERS, ["1.25", 1_000]),
  containerBackOffPeriod: duration("backOffPeriod (containers, images)", KUBELET, ["1.25", 10_000]),
  maxContainerBackOff: duration("MaxContainerBackOff", KUBELET, ["1.25", 300_000]),
  minimumGracePeriod: duration("minimumGracePeriodInSeconds", RUNTIME_MANAGER, ["1.25", 2_000]),
  preStopWithinOverride: change(
    "duration of a preStop hook",
    CONTAINER,
    ["1.25", false, "added to the pod worker's grace period"],
    ["1.28", true, "part of the pod worker's grace period"],
  ),
  createdEventColon: change(
    "message of the event Created",
    CONTAINER,
    ["1.25", false, "Created container NAME"],
    ["1.32", true, "Created container: NAME"],
  ),
  backOffEventNames: change(
    "message of a container's event BackOff",
    RUNTIME_MANAGER,
    ["1.25", false, "names neither"],
    ["1.26", true, "names container and pod"],
  ),
  hookEvent: word<"the hook's output" | "only the failure">(
    "message of the events FailedPostStartHook and FailedPreStopHook",
    CONTAINER,
    ["1.25", "the hook's output"],
    ["1.26", "only the failure"],
  ),
  pullSecretEvent: change(
    "event FailedToRetrieveImagePullSecret",
    "pkg/kubelet/kubelet_pods.go",
    ["1.25", false, "missing"],
    ["1.28", true, "recorded"],
  ),
  imageBackOffReason: change(
    "message of the waiting reason ImagePullBackOff",
    "pkg/kubelet/images/image_manager.go",
    ["1.25", false, "without the pull's error"],
    ["1.32", true, "includes the last pull's error"],
  ),
  podRejectedMessage: word<"Pod" | "Pod was rejected:">(
    "beginning of the message of a rejected pod",
    KUBELET,
    ["1.25", "Pod"],
    ["1.26", "Pod was rejected:"],
  ),
  podRejectedKeepsQosClass: change(
    "status.qosClass of a rejected pod",
    KUBELET,
    ["1.25", false, "removed"],
    ["1.32", true, "kept"],
  ),
  pulledEvent: word<"duration" | "also with waiting" | "also the image's size">(
    "contents of the event Pulled",
    "pkg/kubelet/images/image_manager.go",
    ["1.25", "duration"],
    ["1.26", "also with waiting"],
    ["1.30", "also the image's size"],
  ),
  execProtocol: word<"SPDY/3.1" | "WebSocket v5">(
    "exec, attach",
    "staging/src/k8s.io/client-go/tools/remotecommand/websocket.go",
    ["1.25", "SPDY/3.1"],
    ["1.30", "WebSocket v5"],
  ),
  translateStreamCloseWebsocketRequests: gate("TranslateStreamCloseWebsocketRequests", ["1.25", false], ["1.30", true]),
  coreDnsVersion: word(
    "CoreDNSVersion",
    "cmd/kubeadm/app/constants/constants.go",
    ["1.25", "v1.9.3"],
    ["1.27", "v1.10.1"],
    ["1.29", "v1.11.1"],
    ["1.32", "v1.11.3"],
    ["1.33", "v1.12.0"],
    ["1.34", "v1.12.1"],
  ),
  portForwardWebsockets: gate("PortForwardWebsockets", ["1.25", false], ["1.31", true]),
} as const satisfies Record<string, ReleaseFact<unknown>>;
