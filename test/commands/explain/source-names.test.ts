import assert from "node:assert/strict";
import { test } from "vitest";
import { findTopic } from "../../../src/commands/explain/find.js";
import { openTopics } from "../../../src/commands/explain/open-topics.js";

const TOPICS = (await openTopics("en")).flatMap(({ topics }) => topics);

/** Functions, types, fields, flags, reasons and endpoints that courses and walks through the source name, by topic. */
const NAMES: Readonly<Record<string, string>> = {
  // the sync loop
  "sync loop": "syncLoop syncLoopIteration kl.syncLoop",
  SyncHandler: "SyncHandler",
  HandlePodAdditions: "HandlePodAdditions kubetypes.ADD ADD",
  HandlePodUpdates: "HandlePodUpdates UPDATE DELETE",
  HandlePodRemoves: "HandlePodRemoves REMOVE",
  HandlePodReconcile: "HandlePodReconcile kubetypes.RECONCILE",
  HandlePodSyncs: "HandlePodSyncs syncCh",
  HandlePodCleanups: "HandlePodCleanups housekeepingCh housekeeping",
  configCh: "configCh PodUpdate kubetypes.PodUpdate",
  PodConfig: "PodConfig NewPodConfig config.NewPodConfig PodConfigNotificationIncremental kubetypes.SET SET",
  makePodSourceConfig:
    "makePodSourceConfig ConfigFile ManifestURL staticPodPath fileCheckFrequency httpCheckFrequency --pod-manifest-path",
  newSourceApiserverFromLW:
    "newSourceApiserverFromLW ApiserverSource NewReflector cache.NewReflector NewUndeltaStore cache.MetaNamespaceKeyFunc ListAndWatch r.ListAndWatch",
  plegCh: "plegCh eventChannel",
  ContainerStarted:
    "ContainerStarted ContainerDied ContainerRemoved ContainerChanged PodLifeCycleEvent pleg.PodLifecycleEvent",
  livenessManager:
    "livenessManager readinessManager startupManager livenessManager.Updates() probeManager kl.probeManager.Start()",
  canAdmitPod: "canAdmitPod activePods",
  dispatchWork: "dispatchWork",
  UpdatePod:
    "UpdatePod podWorkers.UpdatePod UpdatePodOptions podUpdates isWorking p.isWorking lastUndeliveredWorkUpdate SyncPodKill kubetypes.SyncPodKill SyncPodCreate OnCompleteFunc KillPodOptions",
  managePodLoop:
    "managePodLoop p.managePodLoop newPodWorkers syncPodFn PodSyncFn workQueue klet.workQueue resyncInterval klet.resyncInterval backOffPeriod syncFrequency lastSyncTime minRuntimeCacheTime",
  "pod worker": "PodWorkers podWorkers podworker klet.podWorkers",
  "pod cache": "podCache klet.podCache GetNewerThan p.podCache.GetNewerThan NewCache kubecontainer.NewCache PodCache",
  syncPod: "syncPod kl.syncPod klet.syncPod SyncPod containerRuntime.SyncPod syncPodOptions",
  syncTerminatingPod: "syncTerminatingPod klet.syncTerminatingPod syncTerminatedPod SyncTerminatingFn",
  computePodActions: "podContainerChanges ContainersToStart podContainerChanges.ContainersToStart",
  makePodDataDirs: "/var/lib/kubelet/pods /var/log/pods",
  WaitForAttachAndMount:
    "WaitForAttachAndMount volumeManager.WaitForAttachAndMount enableControllerAttachDetach volumes.kubernetes.io/controller-managed-attach-detach",
  FailedToRetrieveImagePullSecret: "getPullSecretsForPod kl.getPullSecretsForPod pullSecrets",
  RunPodSandbox:
    "RunPodSandbox createPodSandBox createPodSandbox SetUpPod ds.network.SetUpPod resolv.conf InspectContainer",
  sandbox: "SANDBOX_NOTREADY runtimeapi.PodSandboxState_SANDBOX_NOTREADY pause",
  startContainer: "startContainer m.startContainer ContainerTypeRegular kubecontainer.ContainerTypeRegular",
  cleanUpContainersInPod: "cleanUpContainersInPod kl.cleanUpContainersInPod MaxPerPodContainerCount",
  GetPods:
    "GetPods g.runtime.GetPods kubeGenericRuntimeManager getKubeletSandboxes getKubeletContainers m.sandboxToKubeContainer toKubeContainer getContainerInfoFromLabels kubecontainer.Pod",
  PLEG: "PLEG relist kl.pleg.Start()",
  generateEvents:
    "generateEvents NewGenericPLEG pleg.NewGenericPLEG GenericPLEG plegContainerState plegContainerRunning plegContainerExited plegContainerUnknown plegContainerNonExistent",
  "status manager": "statusManager kl.statusManager.Start() NewManager StatusManager",
  SetPodStatus:
    "SetPodStatus SetContainerReadiness TerminatePod podStatuses versionedPodStatus podStatusChannel podStatusSyncRequest apiStatusVersions kubetypes.MirrorPodUID",
  RemoveOrphanedStatuses: "RemoveOrphanedStatuses",
  podDeletionSafety: "podDeletionSafety PodDeletionSafetyProvider",
  "pod manager":
    "podManager klet.podManager NewBasicPodManager kubepod.NewBasicPodManager secretManager configMapManager",
  "mirror pod": "MirrorPod mirrorPodClient NewBasicMirrorClient",
  EventRecorder:
    "Recorder kubeDeps.Recorder EventBroadcaster record.NewBroadcaster() eventBroadcaster.NewRecorder EventSource api.EventSource",
  RealClock: "RealClock clock.RealClock",
  "wait.Until": "wait.Until wait.NeverStop",
  // the start, settings, endpoints
  NewKubeletServer: "NewKubeletServer KubeletServer options.KubeletServer kubelet.Dependencies initForOS",
  RunKubelet: "RunKubelet CreateAndInitKubelet startKubelet KubeletBootstrap",
  hyperkube: "hyperkube",
  InitCloudProvider: "InitCloudProvider cloudprovider.InitCloudProvider CloudProvider",
  cAdvisor: "cAdvisor Cadvisor cadvisor.New CAdvisorInterface kcfg.CAdvisorInterface CAdvisorPort",
  "container manager": "ContainerManager NewContainerManager cm.NewContainerManager containerManager.Start()",
  cgroupDriver:
    "cgroupDriver cgroupsPerQOS cpuCFSQuota cpuManagerPolicy cpuManagerReconcilePeriod podPidsLimit oomScoreAdj maxOpenFiles failSwapOn enforceNodeAllocatable",
  initializeModules:
    "initializeModules metrics.Register setupDataDirs containerLogsDir imageManager imageManager.Start() oomWatcher",
  resourceAnalyzer: "resourceAnalyzer kl.resourceAnalyzer volumeStatsAggPeriod",
  updateRuntimeUp: "updateRuntimeUp kl.updateRuntimeUp",
  syncNodeStatus: "syncNodeStatus kl.syncNodeStatus --register-node registerNode",
  "10 s": "nodeStatusUpdateFrequency kl.nodeStatusUpdateFrequency",
  ListenAndServe:
    "ListenAndServe k.ListenAndServe ListenAndServeReadOnly server.ListenAndServeKubeletServer ListenAndServeKubeletReadOnlyServer InstallDefaultHandlers EnableDebuggingHandlers enableDebuggingHandlers streamingConnectionIdleTimeout /pods daemonEndpoints kubeletEndpoint address",
  healthz: "healthz /healthz healthzPort healthzBindAddress s.HealthzBindAddress --healthz-port",
  "/spec/": "/spec/ /spec",
  Starting: "BirthCry kl.BirthCry StartingKubelet events.StartingKubelet",
  KubeletConfiguration: "KubeletConfiguration config.yaml /var/lib/kubelet/config.yaml kubelet.config.k8s.io/v1beta1",
  "kubelet authentication":
    "authentication.anonymous clientCAFile authorization.mode cacheTTL cacheAuthorizedTTL cacheUnauthorizedTTL authentication authorization",
  kubeAPIQPS: "kubeAPIQPS kubeAPIBurst registryPullQPS registryBurst serializeImagePulls eventRecordQPS contentType",
  clusterDNS: "clusterDNS clusterDomain resolvConf",
  evictionHard:
    "evictionHard imagefs.available memory.available nodefs.available nodefs.inodesFree evictionPressureTransitionPeriod",
  imageGCHighThresholdPercent: "imageGCHighThresholdPercent imageGCLowThresholdPercent imageMinimumGCAge",
  "container log": "containerLogMaxFiles containerLogMaxSize",
  hairpinMode: "hairpinMode iptablesDropBit iptablesMasqueradeBit makeIPTablesUtilChains",
  maxPods: "maxPods --max-pods",
  runtimeRequestTimeout: "runtimeRequestTimeout --container-runtime-endpoint",
  "certificate rotation": "rotateCertificates",
  nodeInfo: "nodeInfo machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion operatingSystem",
  "version skew": "kubeletVersion kubeProxyVersion",
  capacity: "capacity Capacity allocatable hugepages-1Gi hugepages-2Mi ephemeral-storage",
  "node labels":
    "kubernetes.io/hostname kubernetes.io/arch kubernetes.io/os beta.kubernetes.io/arch beta.kubernetes.io/os",
  "node addresses": "InternalIP --hostname-override",
  "node.alpha.kubernetes.io/ttl": "node.alpha.kubernetes.io/ttl",
  "kubeadm.alpha.kubernetes.io/cri-socket": "kubeadm.alpha.kubernetes.io/cri-socket cri-socket",
  PodCIDR: "PodCIDR PodCIDRs",
  "status.images": "status.images sizeBytes",
  "k8s.gcr.io": "k8s.gcr.io",
  "kubelet.service": "kubelet.service systemd",
  kubeadm: "kubeadm",
  "--bootstrap-kubeconfig": "--bootstrap-kubeconfig --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
  ports: "--port 10250 10255 10248",
  klog: "klog glog -v=2 --v=2",
  Borglet: "Borglet Borg",
  kind: "kind kindnet",
  // identities and certificates
  Lease: "Lease HolderIdentity AcquireTime RenewTime kube-node-lease",
  "TLS bootstrap": "kubelet.pem kubelet.key",
  kubeconfig: "kubelet.config kubeconfig",
  CSR: "CertificateSigningRequest",
  signer: "signerName kubernetes.io/kube-apiserver-client",
  expirationSeconds: "expirationSeconds",
  Approved: "Approved KubectlApprove",
  "bootstrap token": "bootstrap-token-o0phpg",
  "system:node-bootstrapper":
    "system:node-bootstrapper system:bootstrappers:kubeadm:default-node-token kubeadm:kubelet-bootstrap kubernetes.io/bootstrapping rbac-defaults rbac.authorization.kubernetes.io/autoupdate",
  "system:nodes": "system:nodes",
  "system:masters": "system:masters system:authenticated kubernetes-admin",
  // reasons and conditions of a node
  MemoryPressure: "MemoryPressure KubeletHasSufficientMemory NodeHasSufficientMemory",
  DiskPressure: "DiskPressure KubeletHasNoDiskPressure NodeHasNoDiskPressure",
  PIDPressure: "PIDPressure KubeletHasSufficientPID NodeHasSufficientPID",
  KubeletReady: "KubeletReady",
  RegisteredNode: "RegisteredNode",
  NodeReady: "NodeReady",
  Unhealthy: "LivenessProbe",
  // the API server, storage, exec
  Store:
    "Store CreateStrategy rest.RESTCreateStrategy UpdateStrategy DeleteStrategy AfterCreate AfterUpdate AfterDelete ObjectFunc PodStorage NewStorage rest.Storage RESTOptionsGetter",
  restStorageMap: "restStorageMap NewLegacyRESTStorage LegacyRESTStorageProvider restful.WebService go-restful",
  BindingREST: "BindingREST pods/binding bindings",
  "storage.Interface":
    "storage.Interface storagebackend.Config DestroyFunc newETCD2Storage newETCD3Storage storagebackend.StorageTypeETCD2 StorageTypeETCD3 StorageTypeUnset",
  "etcd3.store":
    "etcd3.store ObjectResourceVersion s.versioner.ObjectResourceVersion runtime.Encode pathPrefix s.pathPrefix notFound(key) clientv3.OpPut NewKeyExistsError storage.NewKeyExistsError txnResp",
  GuaranteedUpdate: "GuaranteedUpdate",
  ttlOpts: "ttlOpts s.ttlOpts TTL",
  TransformToStorage: "TransformToStorage s.transformer.TransformToStorage authenticatedDataString",
  includeUninitialized: "includeUninitialized",
  selfLink: "selfLink",
  getExec: "getExec s.getExec /exec/{podNamespace}/{podID}/{containerName} /exec",
  remoteRuntimeService:
    "remoteRuntimeService RuntimeService ImageService ExecRequest runtimeapi.ExecResponse getContextWithTimeout",
  "config.toml":
    "config.toml tcp_address disable_tcp_service stream_server_address stream_server_port io.containerd.grpc.v1.cri",
  UpgradeAwareHandler:
    "UpgradeAwareHandler proxy.NewUpgradeAwareHandler newThrottledUpgradeAwareProxyHandler PortForwardREST pod.PortForwardLocation PodPortForwardOptions handler.MaxBytesPerSec",
  StreamingProxyRedirects:
    "StreamingProxyRedirects ValidateProxyRedirects InterceptRedirects RequireSameHostRedirects genericfeatures.StreamingProxyRedirects",
  // gone
  dockershim: "dockershim dockerService dockershim.sock /var/run/dockershim.sock",
  podKiller: "podKiller kl.podKiller",
  syncNetworkStatus: "syncNetworkStatus kl.syncNetworkStatus",
  OutOfDisk: "OutOfDisk KubeletHasSufficientDisk",
  RESTORE: "RESTORE kubetypes.RESTORE",
  PodWorkerLatency: "PodWorkerLatency metrics.PodWorkerLatency",
  // typed wrongly
  NodeStatusUnknown: "NodeStatusUnkown nodestatusunknwon",
  CrashLoopBackOff: "crashlop CrashLoopBackof crashloopbackof",
  OOMKilled: "OOMKiled",
};

const ASKED = Object.entries(NAMES).flatMap(([topic, names]) => names.split(" ").map((name) => [name, topic] as const));

const UID = "1336f9f0-a898-11e8-b01b-000d3a362518";
const POD = `nginx-deployment-6c54bd5869-wppm8_default(${UID})`;
/** Log lines and output: of the kubelets of then and now, and of a course's own. */
const LINES: readonly (readonly [line: string, topic: string])[] = [
  [`SyncLoop (ADD, "api"): "${POD}"`, "HandlePodAdditions"],
  ["SyncLoop (ADD, api): podName_podNamespace(podUID),...", "HandlePodAdditions"],
  ['"SyncLoop ADD" source="api" pods=["default/nginx-deployment-6c54bd5869-wppm8"]', "HandlePodAdditions"],
  ['SyncLoop ADD source="api" pods=[default/web]', "HandlePodAdditions"],
  [`SyncLoop (UPDATE, "api"): "${POD}"`, "HandlePodUpdates"],
  ['"SyncLoop UPDATE" source="api" pods=["default/web"]', "HandlePodUpdates"],
  ['"SyncLoop DELETE" source="api" pods=["default/web"]', "HandlePodUpdates"],
  [`SyncLoop (DELETE, "api"): "${POD}"`, "HandlePodUpdates"],
  ['"SyncLoop REMOVE" source="api" pods=["default/web"]', "HandlePodRemoves"],
  ['"SyncLoop RECONCILE" source="api" pods=["default/web"]', "HandlePodReconcile"],
  [`SyncLoop (RESTORE, "api"): "${POD}"`, "RESTORE"],
  ['"SyncLoop (SYNC) pods" total=1 pods=["default/web"]', "HandlePodSyncs"],
  ['"SyncLoop (housekeeping)"', "HandlePodCleanups"],
  ['"SyncLoop (probe)" probe="liveness" status="unhealthy" pod="default/web"', "livenessManager"],
  [
    `SyncLoop (PLEG): "${POD}", event: &pleg.PodLifecycleEvent{ID:"${UID}", Type:"ContainerStarted", Data:"7e06e4ce8ab3a4a0"}`,
    "plegCh",
  ],
  [
    '"SyncLoop (PLEG): event for pod" pod="default/web" event=&{ID:1336d6cf Type:ContainerStarted Data:7e06e4ce8ab3}',
    "plegCh",
  ],
  ["&{ef14133d-c5af-482d-a514-e6fc98093553 ContainerDied 926f1b5a1d33a}", "ContainerStarted"],
  ["GenericPLEG: a/b: running -> exited", "generateEvents"],
  [`GenericPLEG: ${UID}/7e06e4ce8ab3: non-existent -> running`, "generateEvents"],
  ['"GenericPLEG" podUID="1336f9f0" containerID="7e06e4ce8ab3" oldState="running" newState="exited"', "generateEvents"],
  ["PLEG is not healthy: pleg was last seen active 3m12.4s ago; threshold is 3m0s", "PLEG is not healthy"],
  [
    'E0521 09:42:28.541023   79863 kubelet.go:2211] "Skipping pod synchronization" err="PLEG is not healthy: pleg has yet to be successful"',
    "PLEG is not healthy",
  ],
  [
    'I0521 09:42:28.541023 79863 kubelet.go:1234] "SyncLoop ADD" source="api" pods=["default/web"]',
    "HandlePodAdditions",
  ],
  [
    `May 21 09:42:28 n1 kubelet[79863]: I0521 09:42:28.541023   79863 kubelet.go:1857] SyncLoop (ADD, "api"): "${POD}"`,
    "HandlePodAdditions",
  ],
  ["I0521 09:42:28.541023 79863 bootstrap.go:17] begin bootstrap", "TLS bootstrap"],
  ["I0521 09:42:28.565105 79863 csr.go:106] waiting for csr is approved....", "CSR"],
  ["I0521 09:43:06.137346 79863 bootstrap.go:29] kubelet pem-files have been saved in .kube", "TLS bootstrap"],
  ["I0521 09:43:06.138625 79863 csr.go:159] writing kubelet-config to ./.kube/kubelet.config", "kubeconfig"],
  ["I0521 09:43:06.141958 79863 bootstrap.go:35] testing kubeclient", "kubeconfig"],
  ["I0521 09:43:06.216640 79863 node.go:35] create node myk8s success", "syncNodeStatus"],
  ["I0521 09:43:06.225844 79863 node.go:50] node status update success", "syncNodeStatus"],
  ["I0521 09:43:06.225891 79863 node_lease.go:59] starting lease controller", "Lease"],
  ['I0521 09:42:28.541023 1 kubelet_node_status.go:70] "Attempting to register node" node="n1"', "syncNodeStatus"],
  ["This CSR was approved by kubectl certificate approve.", "Approved"],
  ["Normal Starting 5m38s kubelet Starting kubelet.", "Starting"],
  ["Starting kubelet main sync loop.", "sync loop"],
  ["Node myjtthink status is now: NodeHasSufficientMemory", "MemoryPressure"],
  ["Node myjtthink event: Registered Node myjtthink in Controller", "RegisteredNode"],
  ["kubelet is posting ready status. AppArmor enabled", "KubeletReady"],
  ["resourceVersion should not be set on objects to be created", "etcd3.store"],
  [
    "Starting reflector *v1.Pod (0s) from vendor/k8s.io/kubernetes/pkg/kubelet/config/apiserver.go:46",
    "newSourceApiserverFromLW",
  ],
  ['"Exec cmd from runtime service failed" err="..." containerID="afbf835393c3" cmd=["ls"]', "remoteRuntimeService"],
  ["URL is not set", "remoteRuntimeService"],
  ['"Sandbox does not have metadata" sandbox="x"', "GetPods"],
  ["failed to run Kubelet: no such file", "NewKubeletServer"],
  ['"Kubelet version" kubeletVersion="v1.25.0"', "NewKubeletServer"],
  ["systemctl status kubelet", "kubelet.service"],
  ["docker ps", "dockershim"],
  ["Container Runtime Version", "nodeInfo"],
  ["PLEG is not helthy", "PLEG is not healthy"],
];

for (const [asked, want] of [...ASKED, ...LINES]) {
  test(`explain ${asked}: ${want}`, () => assert.equal(findTopic(TOPICS, asked).name, want));
}

test("the table has the names of the sources in number", () => assert.ok(ASKED.length > 350, `${ASKED.length}`));
