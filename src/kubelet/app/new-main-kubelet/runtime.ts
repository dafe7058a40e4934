import { join } from "node:path";
import { unitValue } from "../../../staging/apimachinery/quantity.js";
import type { CgroupDriver } from "../../cm/pod-container-manager.js";
import { KubeletRuntimeHelper } from "../../kubelet-pods/runtime-helper.js";
import { KubeGenericRuntimeManager } from "../../kuberuntime/kuberuntime-manager.js";
import { DialingHookClient } from "../../lifecycle/hook-http-client.js";
import { DnsConfigurer } from "../../network/dns.js";
import { NetworkDialer, PortForwardDialer, type ProbeDialer } from "../../prober/probe-dialer.js";
import { forwardToPod, podAt } from "../../sync/probe-forward.js";
import { podLogsDir } from "../../volumes/paths.js";
import type { Kubelet } from "../kubelet.js";

/** Without another dialer, probes and hooks reach a pod through its runtime: there may be no route to its address. */
export function newProbeDialer(kubelet: Kubelet): ProbeDialer {
  return (
    kubelet.deps.dialer ??
    new PortForwardDialer({
      forward: forwardToPod({
        ...kubelet.ctx,
        getUrl: (uid, port, signal) => kubelet.runtime.getPortForward(uid, [port], signal),
      }),
      podAt: (address) => podAt(kubelet.podCache, kubelet.podManager, address),
      others: new NetworkDialer(),
    })
  );
}

/** What the runtime asks the kubelet for: environment, mounts, DNS, cgroups of a pod. */
export function newRuntimeHelper(kubelet: Kubelet): KubeletRuntimeHelper {
  return new KubeletRuntimeHelper(
    {
      ...kubelet.objectManagers,
      recorder: kubelet.recorder,
      services: () => kubelet.services.syncedObjects,
      allocatable: () => kubelet.allocatable,
      hostIps: () => [kubelet.nodeIp],
      volumes: kubelet.volumes,
      deviceManager: kubelet.deviceManager,
      dns: newDns(kubelet),
    },
    {
      rootDir: kubelet.options.rootDir,
      nodeHostsFile: kubelet.options.machine.hostsFile,
      cgroupDriver: cgroupDriver(kubelet),
    },
  );
}

/** The container runtime over its two CRI services. */
export function newRuntimeManager(kubelet: Kubelet): KubeGenericRuntimeManager {
  const { cri } = kubelet;
  const { kubeVersion, rootDir, resources } = kubelet.options;
  const { serializeImagePulls, cpuCFSQuota } = kubelet.config;
  return new KubeGenericRuntimeManager(
    {
      ...kubelet.recording,
      runtimeService: cri.runtime,
      imageService: cri.images,
      runtimeHelper: kubelet.runtimeHelper,
      livenessManager: kubelet.prober.livenessManager,
      startupManager: kubelet.prober.startupManager,
      podStateProvider: {
        isPodTerminationRequested: (podUid) => kubelet.podWorkers.isPodTerminationRequested(podUid),
        shouldPodContentBeRemoved: (podUid) => kubelet.podWorkers.shouldPodContentBeRemoved(podUid),
        shouldPodRuntimeBeRemoved: (podUid) => kubelet.podWorkers.shouldPodRuntimeBeRemoved(podUid),
      },
      hookHttpClient: new DialingHookClient(kubelet.dialer),
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

/** A real machine's cgroups belong to its own kubelet, which would end pods in cgroups that it does not know. */
function cgroupDriver(kubelet: Kubelet): CgroupDriver | undefined {
  const { cgroupsPerQOS, cgroupDriver } = kubelet.config;
  return cgroupsPerQOS && kubelet.options.machine.ownsCgroups ? (cgroupDriver as CgroupDriver) : undefined;
}

function newDns(kubelet: Kubelet): DnsConfigurer {
  const { clusterDNS: clusterDns = [], clusterDomain = "", resolvConf: resolverConfig } = kubelet.config;
  const { kubeVersion } = kubelet.options;
  const nodeIps = [kubelet.nodeIp];
  return new DnsConfigurer(kubelet.recording, { clusterDns, clusterDomain, kubeVersion, resolverConfig, nodeIps });
}
