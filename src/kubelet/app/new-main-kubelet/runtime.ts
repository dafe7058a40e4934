import { join } from "node:path";
import { unitValue } from "../../../staging/apimachinery/quantity.js";
import { Backoff } from "../../../staging/client-go/backoff.js";
import { DeviceManager } from "../../cm/devicemanager/manager.js";
import type { CgroupDriver } from "../../cm/pod-container-manager.js";
import { ImageGcManager } from "../../images/image-gc-manager.js";
import { checkImageGcPolicy, imageGcPolicy } from "../../images/image-gc-policy.js";
import { ReasonCache } from "../../kubelet-pods/reason-cache.js";
import { KubeletRuntimeHelper } from "../../kubelet-pods/runtime-helper.js";
import { CONTAINER_BACK_OFF } from "../../kuberuntime/do-back-off.js";
import { KubeGenericRuntimeManager } from "../../kuberuntime/kuberuntime-manager.js";
import { DialingHookClient } from "../../lifecycle/hook-http-client.js";
import { ContainerLogManager, logRotatePolicy } from "../../logs/container-log-manager.js";
import { DnsConfigurer } from "../../network/dns.js";
import { FileSystems } from "../../stats/file-systems.js";
import { filterOutInactivePods } from "../../sync/active-pods.js";
import { ContainerGc } from "../../sync/garbage-collection.js";
import { NodeImages } from "../../sync/node-images.js";
import { PodCidr } from "../../sync/pod-cidr.js";
import { RuntimeState } from "../../sync/runtime-state.js";
import { RuntimeUp } from "../../sync/runtime-up.js";
import { containerLogsDir, podLogsDir } from "../../volumes/paths.js";
import type { Later } from "./inputs.js";
import type { WithProbes } from "./probes.js";

export type WithRuntime = WithProbes & ReturnType<typeof newRuntime>;

/** Device plugins, the container runtime, and what watches over containers and images. */
export function newRuntime(kubelet: WithProbes, later: Later) {
  const { ctx, deps, options, config, signal, polling, sourcesReady, podManager, statusManager } = kubelet;
  const { rootDir, machine, gcPolicy } = options;
  const getActivePods = () =>
    filterOutInactivePods({ statusManager, podWorkers: later.podWorkers() }, podManager.getPods());
  const deviceManager = new DeviceManager({ ...ctx, sourcesReady, getActivePods }, rootDir, signal);
  const runtimeState = new RuntimeState(deps.clock);
  const reasonCache = new ReasonCache();
  const backOff = new Backoff(deps.clock, CONTAINER_BACK_OFF);
  const runtimeHelper = newRuntimeHelper(kubelet, deviceManager);
  const runtime = newRuntimeManager(kubelet, runtimeHelper, later);
  const initialize = () => deviceManager.start();
  const runtimeUp = new RuntimeUp({ ...ctx, runtime, state: runtimeState, initialize });
  const podCidr = new PodCidr({ ...ctx, runtime });
  const images = new NodeImages({ ...ctx, runtime }, config.nodeStatusMaxImages);
  const fileSystems = new FileSystems({ ...ctx, ...machine, imageService: polling.images }, rootDir);
  const containerGc = new ContainerGc({ runtime, sourcesReady }, gcPolicy);
  const imageFsStats = (inner: AbortSignal) => fileSystems.imageFsStats(inner);
  const imageGc = new ImageGcManager(
    { ...ctx, runtime, agent: deps.agent, imageFsStats },
    checkImageGcPolicy(imageGcPolicy(config)),
  );
  const logManager = new ContainerLogManager(
    { ...ctx, runtimeService: polling.runtime },
    { podLogsDirectory: podLogsDir(rootDir), policy: logRotatePolicy(config) },
  );
  const calls = { runtimeHelper, runtime, runtimeState, runtimeUp, reasonCache, backOff };
  return { deviceManager, ...calls, podCidr, images, fileSystems, containerGc, imageGc, logManager };
}

/** What the runtime asks the kubelet for: environment, mounts, DNS, cgroups of a pod. */
function newRuntimeHelper(kubelet: WithProbes, deviceManager: DeviceManager): KubeletRuntimeHelper {
  const { objectManagers, recorder, services, allocatable, nodeIp, volumes, options } = kubelet;
  return new KubeletRuntimeHelper(
    {
      ...{ ...objectManagers, recorder, allocatable, volumes, deviceManager },
      services: () => services.syncedObjects,
      hostIps: () => [nodeIp],
      dns: newDns(kubelet),
    },
    {
      rootDir: options.rootDir,
      nodeHostsFile: options.machine.hostsFile,
      cgroupDriver: cgroupDriver(kubelet),
    },
  );
}

/** The container runtime over its two CRI services. */
function newRuntimeManager(
  kubelet: WithProbes,
  runtimeHelper: KubeletRuntimeHelper,
  later: Later,
): KubeGenericRuntimeManager {
  const { cri, prober } = kubelet;
  const { kubeVersion, rootDir, resources } = kubelet.options;
  const { serializeImagePulls, cpuCFSQuota } = kubelet.config;
  return new KubeGenericRuntimeManager(
    {
      ...kubelet.recording,
      runtimeService: cri.runtime,
      imageService: cri.images,
      runtimeHelper,
      livenessManager: prober.livenessManager,
      startupManager: prober.startupManager,
      podStateProvider: {
        isPodTerminationRequested: (podUid) => later.podWorkers().isPodTerminationRequested(podUid),
        shouldPodContentBeRemoved: (podUid) => later.podWorkers().shouldPodContentBeRemoved(podUid),
        shouldPodRuntimeBeRemoved: (podUid) => later.podWorkers().shouldPodRuntimeBeRemoved(podUid),
      },
      hookHttpClient: new DialingHookClient(kubelet.dialer),
    },
    {
      kubeVersion,
      runtimeName: cri.version.runtimeName,
      podLogsDirectory: podLogsDir(rootDir),
      containerLogsDirectory: containerLogsDir(rootDir),
      seccompProfileRoot: join(rootDir, "seccomp"),
      memoryCapacityBytes: unitValue(resources.memory),
      serializeImagePulls,
      cpuCfsQuota: cpuCFSQuota,
    },
  );
}

/** A real machine's cgroups belong to its own kubelet, which would end pods in cgroups that it does not know. */
function cgroupDriver(kubelet: WithProbes): CgroupDriver | undefined {
  const { cgroupsPerQOS, cgroupDriver } = kubelet.config;
  return cgroupsPerQOS && kubelet.options.machine.ownsCgroups ? (cgroupDriver as CgroupDriver) : undefined;
}

function newDns(kubelet: WithProbes): DnsConfigurer {
  const { clusterDNS: clusterDns = [], clusterDomain = "", resolvConf: resolverConfig } = kubelet.config;
  const { kubeVersion } = kubelet.options;
  const nodeIps = [kubelet.nodeIp];
  return new DnsConfigurer(kubelet.recording, { clusterDns, clusterDomain, kubeVersion, resolverConfig, nodeIps });
}
