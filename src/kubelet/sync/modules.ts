import { join } from "node:path";
import { unitValue } from "../../apimachinery/quantity.js";
import { generateApiPodStatus } from "../kubelet-pods/api-pod-status.js";
import { PodObjectManagers } from "../kubelet-pods/pod-objects.js";
import { ReasonCache } from "../kubelet-pods/reason-cache.js";
import { KubeletRuntimeHelper } from "../kubelet-pods/runtime-helper.js";
import type { KubeGenericRuntime } from "../kuberuntime/generic-runtime.js";
import { KubeGenericRuntimeManager } from "../kuberuntime/kuberuntime-manager.js";
import type { RuntimeHelper } from "../kuberuntime/runtime-helper.js";
import { DialingHookClient } from "../lifecycle/hook-http-client.js";
import { canAdmitPod } from "../lifecycle-admission/admit.js";
import { PredicateAdmitHandler } from "../lifecycle-admission/predicate.js";
import { CriticalPodAdmissionHandler } from "../lifecycle-admission/preemption.js";
import { DEFAULT_CLUSTER_DNS, DnsConfigurer } from "../network/dns.js";
import { NODE_OS } from "../nodestatus/machine.js";
import { killPodNow } from "../podworkers/kill-pod.js";
import { ProbeManager } from "../prober/manager.js";
import { NetworkDialer, PortForwardDialer, type ProbeDialer } from "../prober/probe-dialer.js";
import { Prober } from "../prober/prober.js";
import { podLogsDir } from "../volumes/paths.js";
import { TokenManager } from "../volumes/token-manager.js";
import { VolumeManager } from "../volumes/volume-manager.js";
import type { KubeletParts } from "./parts.js";
import type { AdmitPod, GenerateApiPodStatus, PodObjects, PodVolumes, ReasonCachePort } from "./ports.js";
import { forwardToPod } from "./probe-forward.js";
import type { SyncLoopChannels } from "./sync-loop.js";

/** The parts that the sync functions work with. */
export interface Modules {
  readonly runtime: KubeGenericRuntime;
  readonly generateApiPodStatus: GenerateApiPodStatus;
  readonly reasonCache: ReasonCachePort;
  readonly prober: ProbeManager;
  readonly probeUpdates: Pick<SyncLoopChannels, "livenessUpdates" | "readinessUpdates" | "startupUpdates">;
  readonly volumes: PodVolumes;
  readonly objects: PodObjects;
  readonly objectManagers: PodObjectManagers;
  readonly canAdmitPod: AdmitPod;
}

/** Makes them. What of `parts` is made after them is only looked at when a pod is there. */
export function createModules(parts: KubeletParts): Modules {
  const { deps, options, recorder } = parts;
  const { clock, random, trace } = deps;
  const { kubeVersion, rootDir, machine } = options;
  const managers = new PodObjectManagers(deps);
  const tokens = new TokenManager(deps);
  const allocatable = () => parts.node.status?.allocatable ?? {};
  const volumes = new VolumeManager(
    { configMaps: managers.configMaps, secrets: managers.secrets, tokens, allocatable, clock, random, recorder, trace },
    { rootDir, hostPaths: machine.hostPaths },
  );
  const dialer = podDialer(parts, () => runtime);
  const prober = createProber(parts, dialer, () => runtime);
  const runtimeHelper = createRuntimeHelper(parts, managers, volumes);
  const runtime = createRuntimeManager(parts, { prober, dialer, runtimeHelper });
  const admissionFailureHandler = new CriticalPodAdmissionHandler(
    {
      recorder,
      evictPod: (pod, statusFunc) =>
        killPodNow(
          { podWorkers: parts.podWorkers, recorder, clock },
          pod,
          { isEvicted: true, statusFunc },
          parts.signal,
        ),
    },
    options,
  );
  const predicates = { getNode: () => parts.node, admissionFailureHandler };
  const admission = [new PredicateAdmitHandler(predicates, { os: NODE_OS, kubeVersion })];
  const reasonCache = new ReasonCache();
  const objects: PodObjects = {
    registerPod: (pod) => managers.registerPod(pod),
    unregisterPod: (pod) => {
      managers.unregisterPod(pod);
      tokens.deleteServiceAccountToken(pod.metadata.uid);
    },
    getPullSecret: (namespace, name, signal) => managers.getPullSecret(namespace, name, signal),
  };
  return {
    runtime,
    reasonCache,
    generateApiPodStatus: (pod, podStatus, podIsTerminal) =>
      generateApiPodStatus(
        { statusManager: parts.statusManager, probeManager: prober, reasonCache, trace },
        { runtimeName: runtime.type, kubeVersion, hostIps: [options.nodeIp] },
        pod,
        podStatus,
        podIsTerminal,
      ),
    prober,
    probeUpdates: {
      livenessUpdates: (signal) => prober.livenessManager.updates(signal),
      readinessUpdates: (signal) => prober.readinessManager.updates(signal),
      startupUpdates: (signal) => prober.startupManager.updates(signal),
    },
    volumes,
    objects,
    objectManagers: managers,
    canAdmitPod: (activePods, pod) => canAdmitPod(admission, activePods, pod),
  };
}

/**
 * Probes and hooks reach a pod by way of its runtime: what it has for an address need not be one of this machine's network.
 * One that names a host of its own gets no farther than loopback.
 */
function podDialer({ deps }: KubeletParts, runtime: () => KubeGenericRuntime): ProbeDialer {
  const { clock } = deps;
  const forward = forwardToPod({ getUrl: (uid, port, signal) => runtime().getPortForward(uid, [port], signal), clock });
  return new PortForwardDialer({ forward, others: new NetworkDialer() });
}

function createProber(parts: KubeletParts, dialer: ProbeDialer, runtime: () => KubeGenericRuntime): ProbeManager {
  const { deps, options, recorder } = parts;
  const { clock } = deps;
  const runner: Pick<KubeGenericRuntime, "runInContainer"> = {
    runInContainer: (...args) => runtime().runInContainer(...args),
  };
  const prober = new Prober({ runner, recorder, dialer, clock }, options);
  const statusManager = { getPodStatus: (podUid: string) => parts.statusManager.getPodStatus(podUid) };
  return new ProbeManager({ ...deps, prober, statusManager }, options);
}

/** What a container gets beside its spec. */
function createRuntimeHelper(parts: KubeletParts, managers: PodObjectManagers, volumes: VolumeManager): RuntimeHelper {
  const { options, recorder, services } = parts;
  const { nodeIp, kubeVersion, rootDir, machine } = options;
  const { clusterDns, clusterDomain } = { ...DEFAULT_CLUSTER_DNS, ...options };
  const dns = new DnsConfigurer(
    { recorder },
    { clusterDns, clusterDomain, resolverConfig: machine.resolvConf, nodeIps: [nodeIp], kubeVersion },
  );
  const { configMaps, secrets } = managers;
  return new KubeletRuntimeHelper(
    {
      configMaps,
      secrets,
      services: () => services.syncedObjects,
      recorder,
      allocatable: () => parts.node.status?.allocatable ?? {},
      hostIps: () => [nodeIp],
      volumes,
      dns,
    },
    { rootDir, nodeHostsFile: machine.hostsFile },
  );
}

function createRuntimeManager(
  parts: KubeletParts,
  made: { readonly prober: ProbeManager; readonly dialer: ProbeDialer; readonly runtimeHelper: RuntimeHelper },
): KubeGenericRuntimeManager {
  const { prober, dialer, runtimeHelper } = made;
  const { deps, options, recorder } = parts;
  const { cri } = deps;
  const { kubeVersion, rootDir, resources } = options;
  return new KubeGenericRuntimeManager(
    {
      ...deps,
      runtimeService: cri.runtime,
      imageService: cri.images,
      runtimeHelper,
      livenessManager: prober.livenessManager,
      startupManager: prober.startupManager,
      podStateProvider: {
        isPodTerminationRequested: (podUid) => parts.podWorkers.isPodTerminationRequested(podUid),
        shouldPodContentBeRemoved: (podUid) => parts.podWorkers.shouldPodContentBeRemoved(podUid),
        shouldPodRuntimeBeRemoved: (podUid) => parts.podWorkers.shouldPodRuntimeBeRemoved(podUid),
      },
      recorder,
      hookHttpClient: new DialingHookClient(dialer),
    },
    {
      kubeVersion,
      runtimeName: cri.version.runtimeName,
      podLogsDirectory: podLogsDir(rootDir),
      seccompProfileRoot: join(rootDir, "seccomp"),
      memoryCapacityBytes: unitValue(resources.memory),
    },
  );
}
