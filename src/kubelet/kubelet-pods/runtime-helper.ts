import type { V1Container, V1Pod } from "../../staging/apimachinery/api/pod.js";
import { messageOf } from "../../util/errors.js";
import { makeFolder } from "../../util/os/files.js";
import type { DeviceManager } from "../cm/devicemanager/manager.js";
import { type CgroupDriver, podCgroupParent } from "../cm/pod-container-manager.js";
import type {
  PodDnsResult,
  PodHostNameResult,
  RunContainerOptionsResult,
  RuntimeHelper,
} from "../container/runtime-helper.js";
import type { DnsConfigurer } from "../network/dns.js";
import { generatePodHostNameAndDomain, nodenameForKernel } from "../network/hostname.js";
import { podContainerDir, podDir } from "../volumes/paths.js";
import type { MountedVolume } from "../volumes/set-up.js";
import { type EnvironmentDeps, makeEnvironmentVariables } from "./environment.js";
import { MountsError, makeMounts } from "./mounts.js";

const POD_CONTAINER_DIR_MODE = 0o750;

export interface RuntimeHelperDeps extends EnvironmentDeps {
  readonly volumes: { getMountedVolumes(podUid: string): ReadonlyMap<string, MountedVolume> };
  readonly dns: DnsConfigurer;
  readonly deviceManager: Pick<DeviceManager, "getDeviceRunContainerOptions">;
}

export interface RuntimeHelperOptions {
  /** the kubelet's folder: upstream `/var/lib/kubelet` */
  readonly rootDir: string;
  /** the node's own hosts file, for pods in its network: upstream `/etc/hosts` */
  readonly nodeHostsFile: string;
  /** undefined: pods have no cgroups of their own */
  readonly cgroupDriver?: CgroupDriver | undefined;
}

/**
 * What the runtime manager needs from the kubelet: environment, mounts, names.
 *
 * Mirrors GenerateRunContainerOptions, GetPodDNS, GetPodDir, GeneratePodHostNameAndDomain and
 * GetExtraSupplementalGroupsForPod in pkg/kubelet/kubelet_pods.go and pkg/kubelet/kubelet_getters.go.
 * Differs: the kubelet creates no cgroups, so the runtime chooses their parent (cgroupsPerQOS: false); no
 * volumes with groups of their own.
 */
export class KubeletRuntimeHelper implements RuntimeHelper {
  constructor(
    readonly deps: RuntimeHelperDeps,
    readonly options: RuntimeHelperOptions,
  ) {}

  async generateRunContainerOptions(
    pod: V1Pod,
    container: V1Container,
    podIp: string,
    podIps: readonly string[],
    signal: AbortSignal,
  ): Promise<RunContainerOptionsResult> {
    const names = this.generatePodHostNameAndDomain(pod);
    if (names.outcome !== "ok") return names;
    const devices = await this.#deviceOptions(pod, container, signal);
    if (devices.outcome === "failed") return devices;
    const kernelName = nodenameForKernel(pod, names.hostname, names.domain);
    if ("problem" in kernelName) return { outcome: "failed", message: kernelName.problem };
    const ips = podIps.length === 0 && podIp !== "" ? [podIp] : podIps;
    const environment = await makeEnvironmentVariables(this.deps, pod, container, ips, signal);
    if (environment.outcome !== "ok") return environment;
    // The pod's own variables win.
    const envs = [...(devices.options?.envs ?? []), ...environment.envs];
    const uid = pod.metadata.uid;
    try {
      const mounts = await makeMounts({
        pod,
        container,
        podDir: this.getPodDir(uid),
        hostName: names.hostname,
        hostDomain: names.domain,
        podIps: ips,
        volumes: this.deps.volumes.getMountedVolumes(uid),
        envs,
        nodeHostsFile: this.options.nodeHostsFile,
      });
      const dir = await this.#makeContainerDir(uid, container);
      const logDir = dir === undefined ? {} : { podContainerDir: dir };
      return {
        outcome: "ok",
        options: {
          ...devices.options,
          envs,
          mounts: [...(devices.options?.mounts ?? []), ...mounts],
          hostname: kernelName.nodename,
          ...logDir,
        },
      };
    } catch (error) {
      signal.throwIfAborted();
      const isFileError = error instanceof Error && typeof (error as NodeJS.ErrnoException).code === "string";
      if (!(error instanceof MountsError) && !isFileError) throw error;
      return { outcome: "failed", message: error.message };
    }
  }

  /** Mirrors GetResources in pkg/kubelet/cm/container_manager_linux.go. */
  async #deviceOptions(pod: V1Pod, container: V1Container, signal: AbortSignal) {
    try {
      const options = await this.deps.deviceManager.getDeviceRunContainerOptions(pod, container);
      return { outcome: "ok", options } as const;
    } catch (error) {
      signal.throwIfAborted();
      return { outcome: "failed", message: messageOf(error) } as const;
    }
  }

  getPodDNS(pod: V1Pod): Promise<PodDnsResult> {
    return this.deps.dns.getPodDns(pod);
  }

  /** Empty: the runtime chooses. */
  getPodCgroupParent(pod: V1Pod): string {
    const { cgroupDriver } = this.options;
    return cgroupDriver === undefined ? "" : podCgroupParent(pod, cgroupDriver);
  }

  /** @throws LabError BAD_FILE for a uid that cannot be the name of a folder */
  getPodDir(podUid: string): string {
    return podDir(this.options.rootDir, podUid);
  }

  generatePodHostNameAndDomain(pod: V1Pod): PodHostNameResult {
    return generatePodHostNameAndDomain(pod, this.deps.dns.options.clusterDomain);
  }

  getExtraSupplementalGroupsForPod(): readonly number[] {
    return [];
  }

  /** Where the runtime manager puts the container's termination log; a container without one needs no folder. */
  async #makeContainerDir(podUid: string, container: V1Container): Promise<string | undefined> {
    const path = container["terminationMessagePath"];
    if (typeof path !== "string" || path === "") return undefined;
    const dir = podContainerDir(this.options.rootDir, podUid, container.name);
    await makeFolder(dir, POD_CONTAINER_DIR_MODE);
    return dir;
  }
}
