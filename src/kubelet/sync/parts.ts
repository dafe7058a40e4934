import type { V1Pod, V1PodStatus } from "../../apimachinery/api/pod.js";
import { Backoff } from "../../client-go/backoff.js";
import type { KubeClient } from "../../client-go/rest/client.js";
import { collectionPath, NODES, SERVICES } from "../../client-go/rest/paths.js";
import { factFor } from "../../release/facts.js";
import type { Ctx } from "../../trace/ctx.js";
import { AsyncQueue } from "../../util/async-queue.js";
import { PodConfig } from "../config/pod-config.js";
import { SourcesReady } from "../config/sources.js";
import { PodCache } from "../container/cache.js";
import type { CriClient } from "../cri/create-cri-client.js";
import type { ServiceObject } from "../envvars/service-env.js";
import { ApiPodEventRecorder } from "../events/pod-recorder.js";
import { CONTAINER_BACK_OFF } from "../kuberuntime/do-back-off.js";
import { DEFAULT_GC_POLICY } from "../kuberuntime/generic-runtime.js";
import { KubeRuntime } from "../kuberuntime/kube-runtime.js";
import { RemotePodReader } from "../kuberuntime/remote-pod-reader.js";
import type { NodeObject } from "../nodestatus/node.js";
import type { NodeResources } from "../nodestatus/resources.js";
import type { PodLifecycleEvent } from "../pleg/events.js";
import { GenericPleg } from "../pleg/generic.js";
import { genericRelistDuration } from "../pleg/health.js";
import { MirrorClient } from "../pod/mirror-client.js";
import { PodManager } from "../pod/pod-manager.js";
import { PodWorkers } from "../podworkers/pod-workers.js";
import { BasicWorkQueue } from "../podworkers/work-queue.js";
import { StatusManager } from "../status/manager.js";
import type { HostPaths } from "../volumes/host-path.js";
import { ActiveDeadline } from "./active-deadline.js";
import { ContainerDeletor } from "./container-deletor.js";
import { PodDeletionSafety } from "./deletion-safety.js";
import { handlePodCleanups } from "./housekeeping.js";
import { Informer } from "./informer.js";
import { createModules, type Modules } from "./modules.js";
import { PodCidr } from "./pod-cidr.js";
import { PodDirs } from "./pod-dirs.js";
import { PodHandlers } from "./pod-handlers.js";
import { KubeletPodSyncer, type PodSyncerDeps } from "./pod-syncer.js";
import { ReclaimedPods } from "./reclaimed-pods.js";
import { RuntimeState } from "./runtime-state.js";
import { RuntimeUp } from "./runtime-up.js";
import { SyncLoop } from "./sync-loop.js";

/** What of the machine pods may see. */
export interface NodeMachine {
  /** what a pod's hostPath means */
  readonly hostPaths: HostPaths;
  /** upstream `/etc/hosts`: for pods in the node's network */
  readonly hostsFile: string;
  /** upstream `/etc/resolv.conf`: empty: none */
  readonly resolvConf: string;
}

/** What workers ask of the cache. */
export type WorkerPodCache = Pick<PodCache, "get" | "getNewerThan">;

/** Where others may put something between the parts: windows that look on, and what runs pods without containers. */
export interface PartsHooks {
  /** called when all parts are there, before anything runs */
  readonly made?: (parts: KubeletParts) => void;
  /** between the pod workers and the cache */
  readonly podCache?: (cache: WorkerPodCache) => WorkerPodCache;
  /** of what the API shows of a pod; deadlines still have the last word */
  readonly podStatus?: (pod: V1Pod, status: V1PodStatus) => V1PodStatus;
}

const NO_HOOKS: Required<Pick<PartsHooks, "podCache" | "podStatus">> = {
  podCache: (cache) => cache,
  podStatus: (_pod, status) => status,
};

export interface KubeletPartsDeps extends Ctx {
  /** as the node */
  readonly client: KubeClient;
  readonly cri: CriClient;
  /** for what PLEG asks every second; default: the same */
  readonly polling?: CriClient;
  readonly hooks?: PartsHooks;
}

export interface KubeletPartsOptions {
  readonly nodeName: string;
  /** `1.25` */
  readonly kubeVersion: string;
  readonly resources: NodeResources;
  /** the node's own, which pods in its network have too */
  readonly nodeIp: string;
  /** pods' files go to `<root>/pods`, their logs to `<root>/log/pods` */
  readonly rootDir: string;
  readonly machine: NodeMachine;
  /** name servers that pods are given; empty: the node's; default as kubeadm: 10.96.0.10 */
  readonly clusterDns?: readonly string[];
  /** empty: none; default `cluster.local` */
  readonly clusterDomain?: string;
  /** the Node as this kubelet would register it */
  readonly initialNode: () => NodeObject;
}

/**
 * Everything that a kubelet consists of, wired and not yet running.
 *
 * Mirrors NewMainKubelet in pkg/kubelet/kubelet.go.
 */
export class KubeletParts {
  readonly recorder: ApiPodEventRecorder;
  readonly podConfig: PodConfig;
  readonly sourcesReady: SourcesReady;
  readonly podManager = new PodManager();
  readonly podDirs: PodDirs;
  readonly nodes: Informer<NodeObject>;
  readonly services: Informer<ServiceObject>;
  readonly pleg: GenericPleg;
  readonly plegEvents: AsyncQueue<PodLifecycleEvent>;
  readonly podCache = new PodCache();
  readonly runtimeState: RuntimeState;
  readonly modules: Modules;
  readonly runtimeUp: RuntimeUp;
  readonly podDeletionSafety: PodDeletionSafety;
  readonly statusManager: StatusManager;
  readonly podWorkers: PodWorkers;
  readonly containerDeletor: ContainerDeletor;
  readonly handlers: PodHandlers;
  readonly loop: SyncLoop;
  readonly #workQueue: BasicWorkQueue;
  readonly #deadline: ActiveDeadline;
  readonly #backOff: Backoff;
  readonly #mirrorClient: MirrorClient;
  #podCidr: PodCidr | undefined;

  /** @param signal ends what the parts do in the background */
  constructor(
    readonly deps: KubeletPartsDeps,
    readonly options: KubeletPartsOptions,
    readonly signal: AbortSignal,
  ) {
    const { client, cri, clock, trace } = deps;
    const { nodeName, kubeVersion } = options;
    this.recorder = new ApiPodEventRecorder({ client, clock, trace }, { nodeName, kubeVersion }, signal);
    this.podConfig = new PodConfig({ clock, trace, recorder: this.recorder });
    this.sourcesReady = new SourcesReady((seen) => this.podConfig.seenAllSources(seen));
    this.podDirs = new PodDirs(options.rootDir);
    this.nodes = new Informer(deps, {
      path: collectionPath(NODES),
      fieldSelector: `metadata.name=${nodeName}`,
      onChanged: (node) => this.#podCidrOf(node),
    });
    this.services = new Informer(deps, { path: collectionPath(SERVICES), waiting: "Containers wait for services." });
    const plegRuntime = new KubeRuntime({ service: new RemotePodReader((deps.polling ?? cri).runtime) });
    this.plegEvents = new AsyncQueue(factFor("plegChannelCapacity", kubeVersion));
    const plegDeps = { runtime: plegRuntime, clock, trace, cache: this.podCache, events: this.plegEvents };
    this.pleg = new GenericPleg(plegDeps, genericRelistDuration(kubeVersion));
    this.runtimeState = new RuntimeState(clock);
    this.runtimeState.addHealthCheck("PLEG", () => this.pleg.healthy());
    this.modules = createModules(this);
    const { runtime, volumes } = this.modules;
    this.runtimeUp = new RuntimeUp({ runtime, state: this.runtimeState, clock, trace });
    const { podManager, podCache } = this;
    this.podDeletionSafety = new PodDeletionSafety({ podWorkers: () => this.podWorkers, podCache, volumes, trace });
    this.statusManager = new StatusManager({ ...deps, podManager, podDeletionSafety: this.podDeletionSafety }, options);
    this.#deadline = new ActiveDeadline({ statusManager: this.statusManager, recorder: this.recorder, clock });
    this.#backOff = new Backoff(clock, CONTAINER_BACK_OFF);
    this.#mirrorClient = new MirrorClient(deps, nodeName);
    this.#workQueue = new BasicWorkQueue(clock);
    this.podWorkers = this.#makePodWorkers();
    const keep = Math.max(1, DEFAULT_GC_POLICY.maxPerPodContainer);
    this.containerDeletor = new ContainerDeletor({ runtime, trace, onDeleted: this.#relistSoon }, keep, signal);
    this.handlers = new PodHandlers({ ...this.#common(), containerDeletor: this.containerDeletor }, options);
    this.loop = this.#makeLoop();
    deps.hooks?.made?.(this);
  }

  /** This kubelet's Node as the API server has it; else as it would register it. Mirrors getNodeAnyWay. */
  get node(): NodeObject {
    return this.nodes.objects[0] ?? this.options.initialNode();
  }

  /** In the background: nothing waits for it, and what fails is told. */
  #podCidrOf(node: NodeObject): void {
    this.#podCidr ??= new PodCidr({ runtime: this.modules.runtime, trace: this.deps.trace });
    // Only an abort is thrown: the kubelet ends.
    void this.#podCidr.update(node, this.signal).catch(() => undefined);
  }

  readonly #relistSoon = () => this.pleg.relistSoon();

  /** What most parts want. */
  #common() {
    const { recorder, podManager, podWorkers, podCache, statusManager, sourcesReady, runtimeState, podDirs } = this;
    const own = { recorder, podManager, podWorkers, podCache, statusManager, sourcesReady, runtimeState, podDirs };
    return { ...this.deps, ...this.modules, ...own };
  }

  #makePodWorkers(): PodWorkers {
    const { modules } = this;
    const { podStatus, podCache: between } = { ...NO_HOOKS, ...this.deps.hooks };
    const syncerDeps: PodSyncerDeps = {
      ...this.#common(),
      generateApiPodStatus: (pod, status, podIsTerminal) =>
        this.#deadline.apply(pod, podStatus(pod, modules.generateApiPodStatus(pod, status, podIsTerminal))),
      podWorkers: { isPodTerminationRequested: (podUid) => this.podWorkers.isPodTerminationRequested(podUid) },
      mirrorClient: this.#mirrorClient,
      backOff: this.#backOff,
      removeDeadContainers: (podUid) => this.#cleanUpContainersInPod(podUid, ""),
      onChanged: this.#relistSoon,
    };
    const syncer = new KubeletPodSyncer(syncerDeps, this.options);
    const podCache = between({
      get: (podUid) => this.podCache.get(podUid),
      getNewerThan: (podUid, minTimeMs, signal) => {
        const found = this.podCache.getNewerThan(podUid, minTimeMs, signal);
        // A worker waits for news: there is no sense in letting it wait for the next period.
        if (this.podCache.waiting(podUid) > 0) this.#relistSoon();
        return found;
      },
    });
    const deps = { ...this.deps, syncer, podCache, workQueue: this.#workQueue, recorder: this.recorder };
    return new PodWorkers(deps, { kubeVersion: this.options.kubeVersion });
  }

  #makeLoop(): SyncLoop {
    const { handlers, modules, podConfig, plegEvents, podDeletionSafety } = this;
    const common = this.#common();
    const housekeeping = { ...common, mirrorClient: this.#mirrorClient, handlers, backOff: this.#backOff };
    const reclaimed = new ReclaimedPods({ ...common, podDeletionSafety }, this.signal);
    return new SyncLoop({
      ...common,
      handler: {
        handlePodAdditions: (pods) => handlers.handlePodAdditions(pods),
        handlePodUpdates: (pods) => handlers.handlePodUpdates(pods),
        handlePodRemoves: (pods) => handlers.handlePodRemoves(pods),
        handlePodReconcile: (pods) => handlers.handlePodReconcile(pods),
        handlePodSyncs: (pods) => handlers.handlePodSyncs(pods),
        handlePodCleanups: (signal) => handlePodCleanups(housekeeping, signal),
      },
      channels: {
        ...modules.probeUpdates,
        configCh: (signal) => podConfig.updates(signal),
        plegCh: (signal) => plegEvents.iterate(signal),
      },
      podsToSync: () => this.#podsToSync(),
      // Differs: ours lists as soon as a pod is killed, and so hears of the deaths before the worker that notes them does;
      // it removes what is left of the pod itself (syncTerminatedPod).
      cleanUpContainersInPod: (podUid, exitedId) => {
        if (!this.podWorkers.isPodCleaningUp(podUid)) this.#cleanUpContainersInPod(podUid, exitedId);
      },
      onContainerRemoved: (podUid) => reclaimed.look(podUid),
    });
  }

  /** Those whose time has come, and those whose time is over. Mirrors getPodsToSync. */
  #podsToSync(): V1Pod[] {
    const due = new Set(this.#workQueue.getWork());
    return this.podManager.getPods().filter((pod) => due.has(pod.metadata.uid) || this.#deadline.shouldSync(pod));
  }

  /** Mirrors cleanUpContainersInPod. */
  #cleanUpContainersInPod(podUid: string, exitedContainerId: string): void {
    const { status } = this.podCache.get(podUid);
    const removeAll = this.podWorkers.shouldPodContentBeRemoved(podUid);
    if (status !== undefined) this.containerDeletor.deleteContainersInPod(exitedContainerId, status, removeAll);
  }
}
