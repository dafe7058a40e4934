import type { V1Container, V1Pod } from "../../staging/apimachinery/api/pod.js";

export interface EnvVar {
  readonly name: string;
  readonly value: string;
}

/** Mirrors kubecontainer.Mount. */
export interface ContainerMount {
  /** the volume's name; not unique */
  readonly name: string;
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readOnly: boolean;
  readonly selinuxRelabel?: boolean;
  /** default: private */
  readonly propagation?: "None" | "HostToContainer" | "Bidirectional";
}

/** Mirrors kubecontainer.DeviceInfo. */
export interface DeviceInfo {
  readonly pathOnHost: string;
  readonly pathInContainer: string;
  /** some of r, w, m */
  readonly permissions: string;
}

/** What a container gets in addition to its spec. Mirrors kubecontainer.RunContainerOptions. */
export interface RunContainerOptions {
  /** in this order; later ones win */
  readonly envs: readonly EnvVar[];
  readonly mounts: readonly ContainerMount[];
  readonly devices?: readonly DeviceInfo[];
  /** of device plugins */
  readonly annotations?: Readonly<Record<string, string>>;
  /**
   * The container's folder on this node: a file in it becomes its termination log. Absent or empty: no termination log.
   * `<root>/pods/<uid>/containers/<name>`
   */
  readonly podContainerDir?: string;
  readonly hostname?: string;
  readonly readOnly?: boolean;
}

/** A failure is shown as the container's waiting reason CreateContainerConfigError with this message. */
export type RunContainerOptionsResult =
  | { readonly outcome: "ok"; readonly options: RunContainerOptions; readonly cleanup?: () => Promise<void> }
  | { readonly outcome: "failed"; readonly message: string };

/** Mirrors runtimeapi.DNSConfig: the resolv.conf of the pod's containers. */
export interface PodDns {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export type PodDnsResult =
  | { readonly outcome: "ok"; readonly dns: PodDns }
  | { readonly outcome: "failed"; readonly message: string };

export type PodHostNameResult =
  | { readonly outcome: "ok"; readonly hostname: string; readonly domain: string }
  | { readonly outcome: "failed"; readonly message: string };

/**
 * What the runtime manager needs from the kubelet.
 *
 * Mirrors RuntimeHelper in pkg/kubelet/container/helpers.go.
 * Differs: failures are return values, with upstream's text.
 */
export interface RuntimeHelper {
  /**
   * Environment, mounts and the like, computed just before a container is created.
   * @param podIp the first of `podIps`; empty in the host's network
   */
  generateRunContainerOptions(
    pod: V1Pod,
    container: V1Container,
    podIp: string,
    podIps: readonly string[],
    signal: AbortSignal,
  ): Promise<RunContainerOptionsResult>;
  getPodDNS(pod: V1Pod, signal: AbortSignal): Promise<PodDnsResult>;
  /** The parent of the cgroups of the pod's containers; empty: the runtime's choice. */
  getPodCgroupParent(pod: V1Pod): string;
  /** `<root>/pods/<uid>` */
  getPodDir(podUid: string): string;
  /** The host name in the pod's spec, or else the pod's name, cut to 63 characters. */
  generatePodHostNameAndDomain(pod: V1Pod): PodHostNameResult;
  /** Groups that own the pod's volumes. */
  getExtraSupplementalGroupsForPod(pod: V1Pod): readonly number[];
}

/** The last result of a probe. Mirrors pkg/kubelet/prober/results (Result). */
export type ProbeResult = "success" | "failure" | "unknown";

/** The part of pkg/kubelet/prober/results (Manager) that the runtime manager reads. */
export interface ProbeResults {
  /** @returns undefined: the container was not probed yet, or has no such probe */
  get(containerId: string): ProbeResult | undefined;
}

/** The pod workers' knowledge about pods. Mirrors podStateProvider in kuberuntime_manager.go. */
export interface PodStateProvider {
  isPodTerminationRequested(podUid: string): boolean;
  shouldPodContentBeRemoved(podUid: string): boolean;
  shouldPodRuntimeBeRemoved(podUid: string): boolean;
}
