import type { NodeObject } from "../../../staging/apimachinery/api/node.js";
import { unitValue } from "../../../staging/apimachinery/quantity.js";
import { parseGoDuration } from "../../../staging/apimachinery/time.js";
import { Backoff } from "../../../staging/client-go/backoff.js";
import { Informer } from "../../../staging/client-go/cache/informer.js";
import { collectionPath, NODES, SERVICES } from "../../../staging/client-go/rest/paths.js";
import { AsyncQueue } from "../../../util/async/async-queue.js";
import { factFor } from "../../../util/release/facts.js";
import { DeviceManager } from "../../cm/devicemanager/manager.js";
import { PodConfig } from "../../config/pod-config.js";
import { SourcesReady } from "../../config/sources.js";
import { PodCache } from "../../container/cache.js";
import { ApiPodEventRecorder } from "../../events/pod-recorder.js";
import type { EvictionManager } from "../../eviction/eviction-manager.js";
import { ImageGcManager } from "../../images/image-gc-manager.js";
import { checkImageGcPolicy, imageGcPolicy } from "../../images/image-gc-policy.js";
import { ReasonCache } from "../../kubelet-pods/reason-cache.js";
import type { ServiceObject } from "../../kubelet-pods/service-env.js";
import { CONTAINER_BACK_OFF } from "../../kuberuntime/do-back-off.js";
import { instrumentedClient } from "../../kuberuntime/instrumented-services.js";
import { KubeRuntime } from "../../kuberuntime/kube-runtime.js";
import type { KubeGenericRuntimeManager } from "../../kuberuntime/kuberuntime-manager.js";
import { RemotePodReader } from "../../kuberuntime/remote-pod-reader.js";
import { ContainerLogManager, logRotatePolicy } from "../../logs/container-log-manager.js";
import type { PodLifecycleEvent } from "../../pleg/events.js";
import { GenericPleg } from "../../pleg/generic.js";
import { genericRelistDuration } from "../../pleg/health.js";
import { MirrorClient } from "../../pod/mirror-client.js";
import { PodManager } from "../../pod/pod-manager.js";
import { PodWorkers } from "../../podworkers/pod-workers.js";
import { BasicWorkQueue } from "../../podworkers/work-queue.js";
import { ProbeManager } from "../../prober/manager.js";
import { Prober } from "../../prober/prober.js";
import { FileSystems } from "../../stats/file-systems.js";
import { readKubeletUsage } from "../../stats/kubelet-usage.js";
import { PodDiskStats } from "../../stats/pod-disk-stats.js";
import { SummaryProvider } from "../../stats/summary-provider.js";
import { StatusManager } from "../../status/manager.js";
import { ActiveDeadline } from "../../sync/active-deadline.js";
import { filterOutInactivePods } from "../../sync/active-pods.js";
import { ContainerDeletor } from "../../sync/container-deletor.js";
import { PodDeletionSafety } from "../../sync/deletion-safety.js";
import { ContainerGc } from "../../sync/garbage-collection.js";
import { NodeImages } from "../../sync/node-images.js";
import { PodCidr } from "../../sync/pod-cidr.js";
import { PodDirs } from "../../sync/pod-dirs.js";
import { RuntimeState } from "../../sync/runtime-state.js";
import { RuntimeUp } from "../../sync/runtime-up.js";
import { PodObjectManagers } from "../../util/manager/pod-objects.js";
import { podLogsDir } from "../../volumes/paths.js";
import { TokenManager } from "../../volumes/token-manager.js";
import { VolumeManager } from "../../volumes/volume-manager.js";
import type { Kubelet, KubeletDeps } from "../kubelet.js";
import type { KubeletOptions } from "../options.js";
import { newAdmitHandlers, newEvictionManager, newShutdownManager } from "./admission.js";
import { registerCollectors } from "./collectors.js";
import { newProbeDialer, newRuntimeHelper, newRuntimeManager } from "./runtime.js";
import { newPodHandlers, newPodSyncer, newSyncLoop } from "./sync.js";

/** The inputs of the fields below. A base class, because fields are set before constructor parameters. */
class KubeletBase {
  constructor(
    readonly deps: KubeletDeps,
    readonly options: KubeletOptions,
    readonly signal: AbortSignal,
  ) {}
}

/** What most parts share. */
function newContext({ clock, random, trace, agent: { client, metrics } }: KubeletDeps): Kubelet["ctx"] {
  return { clock, random, trace, client, metrics };
}

/**
 * Makes the parts of a kubelet, in upstream's order from top to bottom. A part that needs a later one gets it as a
 * function.
 *
 * Mirrors NewMainKubelet in pkg/kubelet/kubelet.go.
 */
export class MainKubelet extends KubeletBase implements Kubelet {
  readonly config = this.options.config;
  readonly client = this.deps.agent.client;
  readonly nodeIp = this.deps.agent.addresses.find(({ type }) => type === "InternalIP")?.address ?? "";
  readonly metrics = this.deps.agent.metrics;
  readonly ctx = newContext(this.deps);
  readonly cri = instrumentedClient(this.deps.cri, this.ctx);
  readonly polling = this.deps.polling === undefined ? this.cri : instrumentedClient(this.deps.polling, this.ctx);

  // Sources of pods, the node, services.
  readonly recorder = new ApiPodEventRecorder(this.ctx, this.options, this.signal);
  readonly recording = { ...this.ctx, recorder: this.recorder };
  readonly podConfig = new PodConfig(this.recording);
  readonly sourcesReady = new SourcesReady((seen) => this.podConfig.seenAllSources(seen));
  readonly services = new Informer<ServiceObject>(this.ctx, {
    path: collectionPath(SERVICES),
    waiting: "Containers wait for services.",
  });
  readonly nodes = new Informer<NodeObject>(this.ctx, {
    path: collectionPath(NODES),
    fieldSelector: `metadata.name=${this.options.nodeName}`,
    // Nothing waits for this promise: it reports its failures, and rejects only when the kubelet ends.
    onChanged: (node) => void this.podCidr.update(node, this.signal).catch(() => undefined),
  });

  // API objects that pods need: config maps, secrets, tokens, volumes.
  readonly objectManagers = new PodObjectManagers(this.ctx);
  readonly tokens = new TokenManager(this.ctx);
  readonly podDirs = new PodDirs(this.options.rootDir);
  readonly volumes = new VolumeManager(
    {
      ...this.recording,
      ...this.objectManagers,
      tokens: this.tokens,
      allocatable: () => this.allocatable,
    },
    { rootDir: this.options.rootDir, hostPaths: this.options.machine.hostPaths },
  );

  // Pods, as desired and as reported.
  readonly podManager = new PodManager();
  readonly mirrorClient = new MirrorClient(this.ctx, this.options.nodeName);
  readonly podCache = new PodCache({ onWait: () => this.pleg.relistSoon() });
  readonly podDeletionSafety = new PodDeletionSafety({
    ...this.ctx,
    podWorkers: () => this.podWorkers,
    podCache: this.podCache,
    volumes: this.volumes,
  });
  readonly statusManager: StatusManager = new StatusManager(
    { ...this.ctx, podManager: this.podManager, podDeletionSafety: this.podDeletionSafety },
    this.options,
  );

  // Probes.
  readonly dialer = newProbeDialer(this);
  readonly prober: ProbeManager = new ProbeManager(
    {
      ...this.ctx,
      statusManager: this.statusManager,
      prober: new Prober(
        {
          ...this.recording,
          dialer: this.dialer,
          runner: { runInContainer: (...args) => this.runtime.runInContainer(...args) },
        },
        this.options,
      ),
    },
    this.options,
  );

  // Device plugins.
  readonly deviceManager: DeviceManager = new DeviceManager(
    {
      ...this.ctx,
      metrics: this.metrics,
      sourcesReady: this.sourcesReady,
      getActivePods: () => filterOutInactivePods(this, this.podManager.getPods()),
    },
    this.options.rootDir,
    this.signal,
  );

  // The container runtime.
  readonly runtimeState = new RuntimeState(this.deps.clock);
  readonly reasonCache = new ReasonCache();
  readonly backOff = new Backoff(this.deps.clock, CONTAINER_BACK_OFF);
  readonly runtimeHelper = newRuntimeHelper(this);
  readonly runtime: KubeGenericRuntimeManager = newRuntimeManager(this);
  readonly runtimeUp = new RuntimeUp({
    ...this.ctx,
    runtime: this.runtime,
    state: this.runtimeState,
    initialize: () => this.deviceManager.start(),
  });
  readonly podCidr = new PodCidr({ ...this.ctx, runtime: this.runtime });
  readonly images = new NodeImages({ ...this.ctx, runtime: this.runtime }, this.config.nodeStatusMaxImages);
  readonly fileSystems = new FileSystems(
    { ...this.ctx, ...this.options.machine, imageService: this.polling.images },
    this.options.rootDir,
  );
  readonly containerGc = new ContainerGc(
    { runtime: this.runtime, sourcesReady: this.sourcesReady },
    this.options.gcPolicy,
  );
  readonly imageGc = new ImageGcManager(
    {
      ...this.ctx,
      runtime: this.runtime,
      agent: this.deps.agent,
      imageFsStats: (signal) => this.fileSystems.imageFsStats(signal),
    },
    checkImageGcPolicy(imageGcPolicy(this.config)),
  );
  readonly logManager = new ContainerLogManager(
    { ...this.ctx, runtimeService: this.polling.runtime },
    {
      podLogsDirectory: podLogsDir(this.options.rootDir),
      policy: logRotatePolicy(this.config),
    },
  );

  // Statistics.
  readonly podDisk = new PodDiskStats(
    {
      clock: this.deps.clock,
      getPodByUid: (podUid) => this.podManager.getPodByUid(podUid),
      getMountedVolumes: (podUid) => this.volumes.getMountedVolumes(podUid),
    },
    {
      podLogsDirectory: podLogsDir(this.options.rootDir),
      periodMs: parseGoDuration(this.config.volumeStatsAggPeriod),
    },
  );
  readonly summaryProvider = SummaryProvider.over(
    this.polling,
    {
      clock: this.deps.clock,
      machine: this.options.machine.usage,
      readKubelet: readKubeletUsage,
      fileSystems: this.fileSystems,
      podDisk: this.podDisk,
    },
    { nodeName: this.options.nodeName, memoryBytes: unitValue(this.options.resources.memory) },
  );

  // PLEG.
  readonly plegEvents = new AsyncQueue<PodLifecycleEvent>(factFor("plegChannelCapacity", this.options.kubeVersion));
  readonly pleg = new GenericPleg(
    {
      ...this.ctx,
      runtime: new KubeRuntime({ service: new RemotePodReader(this.polling.runtime) }),
      cache: this.podCache,
      events: this.plegEvents,
      causeOf: (containerId) => this.deps.cri.causes.of(containerId),
    },
    genericRelistDuration(this.options.kubeVersion),
  );
  readonly containerDeletor = new ContainerDeletor(
    { ...this.ctx, runtime: this.runtime, onDeleted: () => this.pleg.relistSoon() },
    Math.max(1, this.containerGc.policy.maxPerPodContainer),
    this.signal,
  );

  // Pod workers.
  readonly activeDeadline = new ActiveDeadline({ ...this.recording, statusManager: this.statusManager });
  readonly workQueue = new BasicWorkQueue(this.deps.clock);
  readonly podWorkers: PodWorkers = new PodWorkers(
    {
      ...this.recording,
      workQueue: this.workQueue,
      podCache: this.deps.hooks?.podCache?.(this.podCache) ?? this.podCache,
      syncer: newPodSyncer(this),
    },
    { ...this.options, resyncIntervalMs: parseGoDuration(this.config.syncFrequency) },
  );

  // Admission and the sync loop.
  readonly evictionManager: EvictionManager = newEvictionManager(this);
  readonly shutdownManager = newShutdownManager(this);
  readonly admitHandlers = newAdmitHandlers(this);
  readonly handlers = newPodHandlers(this);
  readonly loop = newSyncLoop(this);

  constructor(deps: KubeletDeps, options: KubeletOptions, signal: AbortSignal) {
    super(deps, options, signal);
    this.runtimeState.addHealthCheck("PLEG", () => this.pleg.healthy());
    registerCollectors(this);
    deps.hooks?.made?.(this);
  }

  get node(): NodeObject {
    return this.nodes.objects[0] ?? this.deps.agent.initialNode();
  }

  get allocatable() {
    return this.node.status?.allocatable ?? {};
  }
}
