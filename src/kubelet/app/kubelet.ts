import type { NodeObject } from "../../staging/apimachinery/api/node.js";
import type { V1Pod, V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import type { Backoff } from "../../staging/client-go/backoff.js";
import type { Informer } from "../../staging/client-go/cache/informer.js";
import type { CriClient } from "../../staging/cri/remote/create-cri-client.js";
import type { Ctx } from "../../trace/ctx.js";
import type { AsyncQueue } from "../../util/async/async-queue.js";
import type { KubeletConfiguration } from "../apis/config/defaults.js";
import type { CertificateStore } from "../certificate/certificate-store.js";
import type { DeviceManager } from "../cm/devicemanager/manager.js";
import type { PodConfig } from "../config/pod-config.js";
import type { SourcesReady } from "../config/sources.js";
import type { PodCache } from "../container/cache.js";
import type { ApiPodEventRecorder } from "../events/pod-recorder.js";
import type { EvictionManager } from "../eviction/eviction-manager.js";
import type { ImageGcManager } from "../images/image-gc-manager.js";
import type { ReasonCache } from "../kubelet-pods/reason-cache.js";
import type { KubeletRuntimeHelper } from "../kubelet-pods/runtime-helper.js";
import type { ServiceObject } from "../kubelet-pods/service-env.js";
import type { KubeGenericRuntimeManager } from "../kuberuntime/kuberuntime-manager.js";
import type { PodAdmitHandler } from "../lifecycle/admit.js";
import type { ContainerLogManager } from "../logs/container-log-manager.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import type { NodeShutdownManager } from "../nodeshutdown/manager.js";
import type { PodLifecycleEvent } from "../pleg/events.js";
import type { GenericPleg } from "../pleg/generic.js";
import type { MirrorClient } from "../pod/mirror-client.js";
import type { PodManager } from "../pod/pod-manager.js";
import type { PodWorkers } from "../podworkers/pod-workers.js";
import type { BasicWorkQueue } from "../podworkers/work-queue.js";
import type { ProbeManager } from "../prober/manager.js";
import type { ProbeDialer } from "../prober/probe-dialer.js";
import type { FileSystems } from "../stats/file-systems.js";
import type { PodDiskStats } from "../stats/pod-disk-stats.js";
import type { SummaryProvider } from "../stats/summary-provider.js";
import type { StatusManager } from "../status/manager.js";
import type { ActiveDeadline } from "../sync/active-deadline.js";
import type { ContainerDeletor } from "../sync/container-deletor.js";
import type { PodDeletionSafety } from "../sync/deletion-safety.js";
import type { ContainerGc } from "../sync/garbage-collection.js";
import type { NodeImages } from "../sync/node-images.js";
import type { PodCidr } from "../sync/pod-cidr.js";
import type { PodDirs } from "../sync/pod-dirs.js";
import type { PodHandlers } from "../sync/pod-handlers.js";
import type { RuntimeState } from "../sync/runtime-state.js";
import type { RuntimeUp } from "../sync/runtime-up.js";
import type { SyncLoop } from "../sync/sync-loop.js";
import type { PodObjectManagers } from "../util/manager/pod-objects.js";
import type { TokenManager } from "../volumes/token-manager.js";
import type { VolumeManager } from "../volumes/volume-manager.js";
import type { NodeAgent } from "./node-agent.js";
import type { KubeletOptions, WorkerPodCache } from "./options.js";

/**
 * The parts of a kubelet. MainKubelet makes them, `startKubelet` in run.ts starts them.
 *
 * Mirrors the type Kubelet in pkg/kubelet/kubelet.go.
 */
export interface Kubelet {
  readonly deps: KubeletDeps;
  readonly options: KubeletOptions;
  /** aborts to end what runs in the background */
  readonly signal: AbortSignal;
  readonly config: KubeletConfiguration;
  readonly client: NodeAgent["client"];
  /** The address of pods in the network of the node. Mirrors GetNodeHostIPs. */
  readonly nodeIp: string;
  /** This kubelet's Node as the API server has it, or else as the kubelet would register it. Mirrors getNodeAnyWay. */
  readonly node: NodeObject;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly ctx: Ctx & { readonly client: NodeAgent["client"]; readonly metrics: KubeletMetrics };
  readonly metrics: KubeletMetrics;
  /** the client of the runtime; its calls are counted */
  readonly cri: CriClient;
  /** the client for calls that repeat */
  readonly polling: CriClient;

  // Sources of pods, the node, services.
  readonly recorder: ApiPodEventRecorder;
  readonly recording: Kubelet["ctx"] & { readonly recorder: ApiPodEventRecorder };
  readonly podConfig: PodConfig;
  readonly sourcesReady: SourcesReady;
  readonly services: Informer<ServiceObject>;
  readonly nodes: Informer<NodeObject>;

  // API objects that pods need.
  readonly objectManagers: PodObjectManagers;
  readonly tokens: TokenManager;
  readonly podDirs: PodDirs;
  readonly volumes: VolumeManager;

  // Pods, as desired and as reported.
  readonly podManager: PodManager;
  readonly mirrorClient: MirrorClient;
  readonly podCache: PodCache;
  readonly podDeletionSafety: PodDeletionSafety;
  readonly statusManager: StatusManager;

  // Probes.
  readonly dialer: ProbeDialer;
  readonly prober: ProbeManager;

  // Device plugins.
  readonly deviceManager: DeviceManager;

  // The container runtime.
  readonly runtimeState: RuntimeState;
  readonly reasonCache: ReasonCache;
  readonly backOff: Backoff;
  readonly runtimeHelper: KubeletRuntimeHelper;
  readonly runtime: KubeGenericRuntimeManager;
  readonly runtimeUp: RuntimeUp;
  readonly podCidr: PodCidr;
  readonly images: NodeImages;
  readonly fileSystems: FileSystems;
  readonly containerGc: ContainerGc;
  readonly imageGc: ImageGcManager;
  readonly logManager: ContainerLogManager;

  // Statistics.
  readonly podDisk: PodDiskStats;
  readonly summaryProvider: SummaryProvider;

  // PLEG.
  readonly plegEvents: AsyncQueue<PodLifecycleEvent>;
  readonly pleg: GenericPleg;
  readonly containerDeletor: ContainerDeletor;

  // Pod workers.
  readonly activeDeadline: ActiveDeadline;
  readonly workQueue: BasicWorkQueue;
  readonly podWorkers: PodWorkers;

  // Admission and the sync loop.
  readonly evictionManager: EvictionManager;
  readonly shutdownManager: NodeShutdownManager;
  readonly admitHandlers: readonly PodAdmitHandler[];
  readonly handlers: PodHandlers;
  readonly loop: SyncLoop;
}

/** Hooks for inspectors and virtual pods. */
export interface KubeletHooks {
  /** called when the kubelet is made, before anything runs */
  readonly made?: (kubelet: Kubelet) => void;
  /** wraps the cache that pod workers read */
  readonly podCache?: (cache: WorkerPodCache) => WorkerPodCache;
  /** changes a pod's API status; deadlines are applied after it */
  readonly podStatus?: (pod: V1Pod, status: V1PodStatus) => V1PodStatus;
}

/** What a kubelet is made from, besides its options. Mirrors Dependencies in pkg/kubelet/kubelet.go. */
export interface KubeletDeps extends Ctx {
  /** with the node's own certificate; the caller has not started it */
  readonly agent: NodeAgent;
  readonly cri: CriClient;
  /** for PLEG's calls every second, so that a trace can leave them out; default: the same client */
  readonly polling?: CriClient;
  /** for the rotation of the node's certificate; undefined: no rotation */
  readonly store?: CertificateStore;
  /** how probes and hooks reach pods; default: through port-forwards of the runtime */
  readonly dialer?: ProbeDialer;
  readonly hooks?: KubeletHooks;
}
