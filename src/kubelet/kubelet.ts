import { join } from "node:path";
import type { NodeObject } from "../apimachinery/api/node.js";
import type { V1Pod, V1PodStatus } from "../apimachinery/api/pod.js";
import { unitValue } from "../apimachinery/quantity.js";
import { parseGoDuration } from "../apimachinery/time.js";
import { Backoff } from "../client-go/backoff.js";
import { Informer } from "../client-go/cache/informer.js";
import { collectionPath, NODES, SERVICES } from "../client-go/rest/paths.js";
import type { CriClient } from "../cri/remote/create-cri-client.js";
import { factFor } from "../release/facts.js";
import type { Ctx } from "../trace/ctx.js";
import { AsyncQueue } from "../util/async-queue.js";
import type { CertificateStore } from "./certificate/certificate-store.js";
import type { CgroupDriver } from "./cm/pod-container-manager.js";
import { PodConfig } from "./config/pod-config.js";
import { SourcesReady } from "./config/sources.js";
import { PodCache } from "./container/cache.js";
import type { PodStatus } from "./container/runtime.js";
import type { ServiceObject } from "./envvars/service-env.js";
import { ApiPodEventRecorder } from "./events/pod-recorder.js";
import { evictionConfig } from "./eviction/config.js";
import { EvictionManager } from "./eviction/eviction-manager.js";
import { ImageGcManager } from "./images/image-gc-manager.js";
import { checkImageGcPolicy, imageGcPolicy } from "./images/image-gc-policy.js";
import { generateApiPodStatus } from "./kubelet-pods/api-pod-status.js";
import { PodObjectManagers } from "./kubelet-pods/pod-objects.js";
import { ReasonCache } from "./kubelet-pods/reason-cache.js";
import { KubeletRuntimeHelper } from "./kubelet-pods/runtime-helper.js";
import { CONTAINER_BACK_OFF } from "./kuberuntime/do-back-off.js";
import { DEFAULT_GC_POLICY } from "./kuberuntime/generic-runtime.js";
import { KubeRuntime } from "./kuberuntime/kube-runtime.js";
import { KubeGenericRuntimeManager } from "./kuberuntime/kuberuntime-manager.js";
import { RemotePodReader } from "./kuberuntime/remote-pod-reader.js";
import { DialingHookClient } from "./lifecycle/hook-http-client.js";
import { canAdmitPod, type PodAdmitHandler } from "./lifecycle-admission/admit.js";
import { PredicateAdmitHandler } from "./lifecycle-admission/predicate.js";
import { CriticalPodAdmissionHandler } from "./lifecycle-admission/preemption.js";
import { ContainerLogManager, logRotatePolicy } from "./logs/container-log-manager.js";
import { DnsConfigurer } from "./network/dns.js";
import type { NodeAgent } from "./node.js";
import { shutdownPeriods } from "./nodeshutdown/groups.js";
import { NodeShutdownManager } from "./nodeshutdown/manager.js";
import { NODE_OS } from "./nodestatus/machine.js";
import type { KubeletOptions, WorkerPodCache } from "./options.js";
import type { PodLifecycleEvent } from "./pleg/events.js";
import { GenericPleg } from "./pleg/generic.js";
import { genericRelistDuration } from "./pleg/health.js";
import { MirrorClient } from "./pod/mirror-client.js";
import { PodManager } from "./pod/pod-manager.js";
import { type KillPodNowOptions, killPodNow } from "./podworkers/kill-pod.js";
import { PodWorkers } from "./podworkers/pod-workers.js";
import { BasicWorkQueue } from "./podworkers/work-queue.js";
import { ProbeManager } from "./prober/manager.js";
import { NetworkDialer, PortForwardDialer, type ProbeDialer } from "./prober/probe-dialer.js";
import { Prober } from "./prober/prober.js";
import { FileSystems } from "./stats/file-systems.js";
import { PodDiskStats } from "./stats/pod-disk-stats.js";
import { SummaryProvider } from "./stats/summary-provider.js";
import { StatusManager } from "./status/manager.js";
import { ActiveDeadline } from "./sync/active-deadline.js";
import { filterOutInactivePods } from "./sync/active-pods.js";
import { ContainerDeletor } from "./sync/container-deletor.js";
import { PodDeletionSafety } from "./sync/deletion-safety.js";
import { ContainerGc } from "./sync/garbage-collection.js";
import { handlePodCleanups } from "./sync/housekeeping.js";
import { NodeImages } from "./sync/node-images.js";
import { PodCidr } from "./sync/pod-cidr.js";
import { PodDirs } from "./sync/pod-dirs.js";
import { PodHandlers } from "./sync/pod-handlers.js";
import { KubeletPodSyncer } from "./sync/pod-syncer.js";
import { getPodsToSync } from "./sync/pods-to-sync.js";
import { forwardToPod, podAt } from "./sync/probe-forward.js";
import { ReclaimedPods } from "./sync/reclaimed-pods.js";
import { RuntimeState } from "./sync/runtime-state.js";
import { RuntimeUp } from "./sync/runtime-up.js";
import { SyncLoop } from "./sync/sync-loop.js";
import { podLogsDir } from "./volumes/paths.js";
import { TokenManager } from "./volumes/token-manager.js";
import { VolumeManager } from "./volumes/volume-manager.js";

/** Hooks for inspectors and virtual pods. */
export interface KubeletHooks {
  /** called when the kubelet is made, before anything runs */
  readonly made?: (kubelet: Kubelet) => void;
  /** wraps the cache that pod workers read */
  readonly podCache?: (cache: WorkerPodCache) => WorkerPodCache;
  /** changes a pod's API status; deadlines are applied after it */
  readonly podStatus?: (pod: V1Pod, status: V1PodStatus) => V1PodStatus;
}

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

/** The inputs of the fields below. A base class, because fields are set before constructor parameters. */
class KubeletBase {
  constructor(
    readonly deps: KubeletDeps,
    readonly options: KubeletOptions,
    /** aborts to end what runs in the background */
    readonly signal: AbortSignal,
  ) {}
}

/**
 * A kubelet that is made but not running yet. The fields are those of NewMainKubelet, made in upstream's order from top
 * to bottom; a field that needs a later one gets it as a function. `runKubelet` in run.ts starts the kubelet.
 *
 * Mirrors NewMainKubelet in pkg/kubelet/kubelet.go.
 */
export class Kubelet extends KubeletBase {
  readonly config = this.options.config;
  readonly client = this.deps.agent.client;
  /** The address of pods in the network of the node. Mirrors GetNodeHostIPs. */
  readonly nodeIp = this.deps.agent.addresses.find(({ type }) => type === "InternalIP")?.address ?? "";
  readonly ctx = { clock: this.deps.clock, random: this.deps.random, trace: this.deps.trace, client: this.client };

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

  // Probes. Without another dialer, probes and hooks reach a pod through its runtime: there may be no route to its address.
  readonly dialer: ProbeDialer =
    this.deps.dialer ??
    new PortForwardDialer({
      forward: forwardToPod({
        ...this.ctx,
        getUrl: (uid, port, signal) => this.runtime.getPortForward(uid, [port], signal),
      }),
      podAt: (address) => podAt(this.podCache, this.podManager, address),
      others: new NetworkDialer(),
    });
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

  // The container runtime.
  readonly runtimeState = new RuntimeState(this.deps.clock);
  readonly reasonCache = new ReasonCache();
  readonly backOff = new Backoff(this.deps.clock, CONTAINER_BACK_OFF);
  readonly runtimeHelper = new KubeletRuntimeHelper(
    {
      ...this.objectManagers,
      recorder: this.recorder,
      services: () => this.services.syncedObjects,
      allocatable: () => this.allocatable,
      hostIps: () => [this.nodeIp],
      volumes: this.volumes,
      dns: this.#newDns(),
    },
    {
      rootDir: this.options.rootDir,
      nodeHostsFile: this.options.machine.hostsFile,
      cgroupDriver: this.#cgroupDriver(),
    },
  );
  readonly runtime: KubeGenericRuntimeManager = this.#newRuntimeManager();
  readonly runtimeUp = new RuntimeUp({ ...this.ctx, runtime: this.runtime, state: this.runtimeState });
  readonly podCidr = new PodCidr({ ...this.ctx, runtime: this.runtime });
  readonly images = new NodeImages({ ...this.ctx, runtime: this.runtime }, this.config.nodeStatusMaxImages);
  readonly fileSystems = new FileSystems(
    { ...this.ctx, ...this.options.machine, imageService: (this.deps.polling ?? this.deps.cri).images },
    this.options.rootDir,
  );
  readonly containerGc = new ContainerGc({ runtime: this.runtime, sourcesReady: this.sourcesReady });
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
    { ...this.ctx, runtimeService: (this.deps.polling ?? this.deps.cri).runtime },
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
    this.deps.polling ?? this.deps.cri,
    {
      clock: this.deps.clock,
      machine: this.options.machine.usage,
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
      runtime: new KubeRuntime({ service: new RemotePodReader((this.deps.polling ?? this.deps.cri).runtime) }),
      cache: this.podCache,
      events: this.plegEvents,
      causeOf: (containerId) => this.deps.cri.causes.of(containerId),
    },
    genericRelistDuration(this.options.kubeVersion),
  );
  readonly containerDeletor = new ContainerDeletor(
    { ...this.ctx, runtime: this.runtime, onDeleted: () => this.pleg.relistSoon() },
    Math.max(1, DEFAULT_GC_POLICY.maxPerPodContainer),
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
      syncer: this.#newPodSyncer(),
    },
    { ...this.options, resyncIntervalMs: parseGoDuration(this.config.syncFrequency) },
  );

  readonly evictionManager: EvictionManager = this.#newEvictionManager();

  // Admission and the sync loop.
  readonly shutdownManager: NodeShutdownManager = new NodeShutdownManager(
    {
      ...this.ctx,
      agent: this.deps.agent,
      getActivePods: () => filterOutInactivePods(this, this.podManager.getPods()),
      killPod: (pod, gracePeriodOverrideSeconds, statusFunc, signal) => {
        const killDeps = { ...this.recording, podWorkers: this.podWorkers };
        return killPodNow(killDeps, pod, { isEvicted: false, gracePeriodOverrideSeconds, statusFunc }, signal);
      },
      syncNodeStatus: (signal) => this.deps.agent.heartbeat.update(signal),
    },
    { periods: shutdownPeriods(this.config), kubeVersion: this.options.kubeVersion },
  );
  readonly admitHandlers: readonly PodAdmitHandler[] = [
    this.evictionManager,
    new PredicateAdmitHandler(
      {
        getNode: () => this.node,
        admissionFailureHandler: new CriticalPodAdmissionHandler(
          {
            recorder: this.recorder,
            evictPod: (pod, statusFunc) => this.#evict(pod, { statusFunc }),
          },
          this.options,
        ),
      },
      { os: NODE_OS, kubeVersion: this.options.kubeVersion },
    ),
    this.shutdownManager,
  ];
  readonly handlers = new PodHandlers(
    {
      ...this.#common(),
      containerDeletor: this.containerDeletor,
      canAdmitPod: (active, pod) => canAdmitPod(this.admitHandlers, active, pod),
    },
    this.options,
  );
  readonly loop = this.#newSyncLoop();

  constructor(deps: KubeletDeps, options: KubeletOptions, signal: AbortSignal) {
    super(deps, options, signal);
    this.runtimeState.addHealthCheck("PLEG", () => this.pleg.healthy());
    deps.hooks?.made?.(this);
  }

  /** This kubelet's Node as the API server has it, or else as the kubelet would register it. Mirrors getNodeAnyWay. */
  get node(): NodeObject {
    return this.nodes.objects[0] ?? this.deps.agent.initialNode();
  }

  get allocatable() {
    return this.node.status?.allocatable ?? {};
  }

  #common() {
    const { recorder, podManager, podWorkers, podCache, statusManager, sourcesReady, runtimeState, podDirs } = this;
    const { runtime, prober, volumes, reasonCache, mirrorClient, backOff } = this;
    const pods = { recorder, podManager, podWorkers, podCache, statusManager, sourcesReady, runtimeState, podDirs };
    return { ...this.ctx, ...pods, runtime, prober, volumes, reasonCache, mirrorClient, backOff };
  }

  /** A real machine's cgroups belong to its own kubelet, which would end pods in cgroups that it does not know. */
  #cgroupDriver(): CgroupDriver | undefined {
    const { cgroupsPerQOS, cgroupDriver } = this.config;
    return cgroupsPerQOS && this.options.machine.ownsCgroups ? (cgroupDriver as CgroupDriver) : undefined;
  }

  #newDns(): DnsConfigurer {
    const { clusterDNS: clusterDns = [], clusterDomain = "", resolvConf: resolverConfig } = this.config;
    const { kubeVersion } = this.options;
    const nodeIps = [this.nodeIp];
    return new DnsConfigurer(this.recording, { clusterDns, clusterDomain, kubeVersion, resolverConfig, nodeIps });
  }

  #newRuntimeManager(): KubeGenericRuntimeManager {
    const { cri } = this.deps;
    const { kubeVersion, rootDir, resources } = this.options;
    const { serializeImagePulls, cpuCFSQuota } = this.config;
    return new KubeGenericRuntimeManager(
      {
        ...this.recording,
        runtimeService: cri.runtime,
        imageService: cri.images,
        runtimeHelper: this.runtimeHelper,
        livenessManager: this.prober.livenessManager,
        startupManager: this.prober.startupManager,
        podStateProvider: {
          isPodTerminationRequested: (podUid) => this.podWorkers.isPodTerminationRequested(podUid),
          shouldPodContentBeRemoved: (podUid) => this.podWorkers.shouldPodContentBeRemoved(podUid),
          shouldPodRuntimeBeRemoved: (podUid) => this.podWorkers.shouldPodRuntimeBeRemoved(podUid),
        },
        hookHttpClient: new DialingHookClient(this.dialer),
      },
      {
        kubeVersion,
        runtimeName: cri.version.runtimeName,
        podLogsDirectory: podLogsDir(rootDir),
        seccompProfileRoot: join(rootDir, "seccomp"),
        memoryCapacityBytes: unitValue(resources.memory),
        serializeImagePulls,
        cpuCfsQuota: cpuCFSQuota,
      },
    );
  }

  #newPodSyncer(): KubeletPodSyncer {
    const { objectManagers, tokens, pleg } = this;
    return new KubeletPodSyncer(
      {
        ...this.#common(),
        generateApiPodStatus: (pod, status, podIsTerminal) => this.#apiPodStatus(pod, status, podIsTerminal),
        podWorkers: { isPodTerminationRequested: (podUid) => this.podWorkers.isPodTerminationRequested(podUid) },
        objects: {
          registerPod: (pod) => objectManagers.registerPod(pod),
          unregisterPod: (pod) => {
            objectManagers.unregisterPod(pod);
            tokens.deleteServiceAccountToken(pod.metadata.uid);
          },
          getPullSecret: (namespace, name, signal) => objectManagers.getPullSecret(namespace, name, signal),
        },
        removeDeadContainers: (podUid) => this.#cleanUpContainersInPod(podUid, ""),
        onChanged: () => pleg.relistSoon(),
      },
      this.options,
    );
  }

  #apiPodStatus(pod: V1Pod, podStatus: PodStatus, podIsTerminal: boolean): V1PodStatus {
    const { statusManager, prober, reasonCache, runtime, options, deps } = this;
    const statusDeps = { ...this.ctx, statusManager, probeManager: prober, reasonCache };
    const node = { runtimeName: runtime.type, kubeVersion: options.kubeVersion, hostIps: [this.nodeIp] };
    const status = generateApiPodStatus(statusDeps, node, pod, podStatus, podIsTerminal);
    return this.activeDeadline.apply(pod, deps.hooks?.podStatus?.(pod, status) ?? status);
  }

  #newEvictionManager(): EvictionManager {
    const { podManager, podDeletionSafety, config, options, statusManager } = this;
    const { summaryProvider, imageGc, containerGc, fileSystems, recorder } = this;
    return new EvictionManager(
      {
        ...{ ...this.ctx, recorder, summaryProvider, imageGc, containerGc },
        agent: this.deps.agent,
        hasDedicatedImageFs: (signal) => fileSystems.hasDedicatedImageFs(signal),
        getActivePods: () => filterOutInactivePods(this, podManager.getPods()),
        podIsCleanedUp: (pod) => {
          const status = statusManager.getPodStatus(pod.metadata.uid) ?? pod.status;
          return podDeletionSafety.podResourcesAreReclaimed(pod, status);
        },
        killPod: (pod, gracePeriodOverrideSeconds, statusFunc) =>
          this.#evict(pod, { gracePeriodOverrideSeconds, statusFunc }),
      },
      evictionConfig(config, options.kubeVersion),
    );
  }

  #evict(pod: V1Pod, options: Omit<KillPodNowOptions, "isEvicted">): Promise<void> {
    const deps = { ...this.recording, podWorkers: this.podWorkers };
    return killPodNow(deps, pod, { ...options, isEvicted: true }, this.signal);
  }

  #newSyncLoop(): SyncLoop {
    const { handlers, podConfig, plegEvents, podDeletionSafety, prober, workQueue, podManager, activeDeadline } = this;
    const common = this.#common();
    const reclaimed = new ReclaimedPods({ ...common, podDeletionSafety }, this.signal);
    return new SyncLoop({
      ...common,
      handler: {
        handlePodAdditions: (pods) => handlers.handlePodAdditions(pods),
        handlePodUpdates: (pods) => handlers.handlePodUpdates(pods),
        handlePodRemoves: (pods) => handlers.handlePodRemoves(pods),
        handlePodReconcile: (pods) => handlers.handlePodReconcile(pods),
        handlePodSyncs: (pods) => handlers.handlePodSyncs(pods),
        handlePodCleanups: (signal) => handlePodCleanups({ ...common, handlers }, signal),
      },
      channels: {
        configCh: (signal) => podConfig.updates(signal),
        plegCh: (signal) => plegEvents.iterate(signal),
        livenessUpdates: (signal) => prober.livenessManager.updates(signal),
        readinessUpdates: (signal) => prober.readinessManager.updates(signal),
        startupUpdates: (signal) => prober.startupManager.updates(signal),
      },
      podsToSync: () => getPodsToSync({ workQueue, podManager, activeDeadline }),
      // Differs: our PLEG relists as soon as a pod is killed, so a death can arrive before the worker notes it; the
      // worker then removes the pod's remaining containers (syncTerminatedPod).
      cleanUpContainersInPod: (podUid, exitedId) => {
        if (!this.podWorkers.isPodCleaningUp(podUid)) this.#cleanUpContainersInPod(podUid, exitedId);
      },
      onContainerRemoved: (podUid) => reclaimed.look(podUid),
    });
  }

  /** Mirrors cleanUpContainersInPod. */
  #cleanUpContainersInPod(podUid: string, exitedContainerId: string): void {
    const { status } = this.podCache.get(podUid);
    const removeAll = this.podWorkers.shouldPodContentBeRemoved(podUid);
    if (status !== undefined) this.containerDeletor.deleteContainersInPod(exitedContainerId, status, removeAll);
  }
}
