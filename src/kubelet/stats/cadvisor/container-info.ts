import { allContainersOf, type V1Pod } from "../../../staging/apimachinery/api/pod.js";
import type { CpuStats, FsStats, MemoryStats, NetworkStats, NodeStats } from "../../apis/stats/v1alpha1.js";
import { generateLinuxContainerResources, type ResourceOptions } from "../../kuberuntime/linux-resources.js";
import type { ListedPodStats } from "../cri-stats-provider.js";

/** The labels of a cgroup in cAdvisor's metrics; an empty string if a cgroup has none. */
export interface ContainerLabels {
  readonly container: string;
  /** the cgroup: `/kubepods/burstable/podUID/ID` */
  readonly id: string;
  readonly image: string;
  /** the runtime's ID of the container */
  readonly name: string;
  readonly namespace: string;
  readonly pod: string;
}

/** The limits of a cgroup. Mirrors ContainerSpec of cAdvisor. */
export interface ContainerSpec {
  readonly cpuPeriodUs?: number;
  /** undefined: no limit */
  readonly cpuQuotaUs?: number;
  readonly cpuShares: number;
  /** 0: no limit */
  readonly memoryLimitBytes: number;
}

/** A cgroup and its usage. Mirrors ContainerInfo of cAdvisor. */
export interface ContainerInfo {
  readonly labels: ContainerLabels;
  readonly startTimeMs?: number | undefined;
  readonly spec?: ContainerSpec | undefined;
  readonly cpu?: CpuStats | undefined;
  readonly memory?: MemoryStats | undefined;
  readonly fs?: FsStats | undefined;
  readonly network?: NetworkStats | undefined;
  readonly processCount?: number | undefined;
}

export interface ContainerInfoDeps {
  readonly getPodByUid: (podUid: string) => V1Pod | undefined;
  /** `/kubepods/burstable/podUID`; empty: pods have no cgroup of their own */
  readonly podCgroup: (pod: V1Pod) => string;
  readonly resources: ResourceOptions;
}

/**
 * The cgroups of a node, from the statistics of its runtime: the machine, all pods, each pod and each running container.
 *
 * Mirrors GetRequestedContainersInfo in pkg/kubelet/kubelet.go, and containerPrometheusLabelsFunc in pkg/kubelet/server/server.go.
 * Differs: without cAdvisor there are no cgroups of the system's services and of QoS classes, nor of sandboxes, whose network is
 * that of the pod's cgroup; a pod without a cgroup of its own has no row.
 */
export function containerInfos(deps: ContainerInfoDeps, node: NodeStats, listed: ListedPodStats): ContainerInfo[] {
  const { cpu, memory, fs, systemContainers = [] } = node;
  const allPods = systemContainers.find(({ name }) => name === "pods");
  return [
    { labels: { ...NONE, id: "/" }, cpu, memory, fs },
    ...(allPods === undefined
      ? []
      : [{ labels: { ...NONE, id: "/kubepods" }, cpu: allPods.cpu, memory: allPods.memory }]),
    ...listed.pods.flatMap((one) => podInfo(deps, one)),
    ...listed.containers.map((one) => containerInfo(deps, one)),
  ];
}

const NONE: ContainerLabels = { container: "", id: "", image: "", name: "", namespace: "", pod: "" };

function podInfo(deps: ContainerInfoDeps, stats: ListedPodStats["pods"][number]): ContainerInfo[] {
  const { name, namespace, uid } = stats.podRef;
  const id = cgroupOf(deps, uid);
  if (id === "") return [];
  const { startTimeMs, cpu, memory, network, processStats } = stats;
  const labels = { ...NONE, id, namespace, pod: name };
  return [{ labels, startTimeMs, cpu, memory, network, processCount: processStats?.processCount }];
}

function containerInfo(
  deps: ContainerInfoDeps,
  { containerId, image, podRef, stats }: ListedPodStats["containers"][number],
): ContainerInfo {
  const { name, namespace, uid } = podRef;
  const { cpu, memory, rootfs, startTimeMs } = stats;
  const id = `${cgroupOf(deps, uid)}/${containerId}`;
  const pod = deps.getPodByUid(uid);
  const container = pod && allContainersOf(pod).find((one) => one.name === stats.name);
  // A runtime may name an image by its digest.
  const labels = {
    container: stats.name,
    id,
    image: container?.image ?? image,
    name: containerId,
    namespace,
    pod: name,
  };
  const spec = pod && container && specOf(generateLinuxContainerResources(pod, container, deps.resources));
  return { labels, startTimeMs, cpu, memory, fs: rootfs, spec };
}

function cgroupOf({ getPodByUid, podCgroup }: ContainerInfoDeps, podUid: string): string {
  const pod = getPodByUid(podUid);
  return pod === undefined ? "" : podCgroup(pod);
}

/** As the kubelet sent it over CRI. */
function specOf(sent: ReturnType<typeof generateLinuxContainerResources>): ContainerSpec {
  const { cpuPeriod, cpuQuota, cpuShares, memoryLimitInBytes } = sent;
  return {
    cpuShares: Number(cpuShares),
    memoryLimitBytes: Number(memoryLimitInBytes ?? 0),
    ...(cpuPeriod === undefined ? {} : { cpuPeriodUs: Number(cpuPeriod) }),
    ...(cpuQuota === undefined || Number(cpuQuota) === 0 ? {} : { cpuQuotaUs: Number(cpuQuota) }),
  };
}
