import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import type { ContainerStats, CpuStats, MemoryStats, NodeStats, PodStats, Summary } from "../apis/stats/v1alpha1.js";
import {
  CriStatsProvider,
  type CriStatsProviderDeps,
  type ListedPodStats,
  type ListOptions,
} from "./cri-stats-provider.js";
import { type FileSystems, onImageFs } from "./file-systems.js";
import type { KubeletUsage } from "./kubelet-usage.js";
import { type MachineReading, type MachineUsage, PodsCpuTime } from "./machine-usage.js";
import type { PodDiskStats } from "./pod-disk-stats.js";

export interface SummaryProviderDeps {
  readonly clock: Clock;
  readonly provider: Pick<CriStatsProvider, "listPodStats">;
  /** undefined: only the machine's pods are known */
  readonly machine?: MachineUsage | undefined;
  /** measures the kubelet itself; undefined: it has no row */
  readonly readKubelet?: () => KubeletUsage;
  /** undefined: the file systems are not measured */
  readonly fileSystems?: Pick<FileSystems, "rootFsStats" | "imageFsStats">;
  /** undefined: the disk usage of pods is not measured */
  readonly podDisk?: Pick<PodDiskStats, "withDisk">;
}

export interface SummaryOptions {
  readonly nodeName: string;
  /** the node's capacity; undefined: unknown */
  readonly memoryBytes?: number;
}

interface Usage {
  readonly coreNanoSeconds: number;
  readonly memoryBytes: number;
}

/**
 * The resource usage of the node and its pods, for /stats/summary, /metrics/resource and the eviction manager.
 *
 * Mirrors pkg/kubelet/server/stats/summary.go (SummaryProvider) and summary_sys_containers.go, for its `pods` and `kubelet`.
 * Differs: there is no cAdvisor, so the node's usage is that of its pods plus the machine's own figures.
 */
export class SummaryProvider {
  readonly #podsCpu = new PodsCpuTime();
  readonly #rates = { node: new CpuRate(), pods: new CpuRate(), kubelet: new CpuRate() };
  readonly #startTimeMs: number;

  constructor(
    readonly deps: SummaryProviderDeps,
    readonly options: SummaryOptions,
  ) {
    this.#startTimeMs = deps.clock.now();
  }

  /** Over a client of a container runtime. */
  static over(
    cri: CriStatsProviderDeps,
    deps: Omit<SummaryProviderDeps, "provider">,
    options: SummaryOptions,
  ): SummaryProvider {
    return new SummaryProvider({ ...deps, provider: new CriStatsProvider(cri) }, options);
  }

  /**
   * @param updateStats takes a reading of the CPU usage per second: true for the eviction manager
   * @param sandboxes also the network and the processes of pods
   * @throws RuntimeCallError
   */
  async get(updateStats: boolean, signal: AbortSignal, sandboxes = true): Promise<Summary> {
    const { provider, fileSystems, podDisk } = this.deps;
    const options = { updateCpuUsage: updateStats, onlyCpuAndMemory: false, sandboxes };
    const listed = await provider.listPodStats(options, signal);
    const node = this.#node(listed, options);
    const fs = await fileSystems?.rootFsStats(signal);
    const imageFs = await fileSystems?.imageFsStats(signal);
    const pods = podDisk === undefined ? listed.pods : await podDisk.withDisk(listed.pods, fs, signal);
    if (fs === undefined || imageFs === undefined) return { node, pods };
    return { node: { ...node, fs, runtime: { imageFs } }, pods: onImageFs(pods, imageFs) };
  }

  /** The node with its file system, and the pods and containers as the runtime lists them. @throws RuntimeCallError */
  async getContainers(signal: AbortSignal): Promise<{ readonly node: NodeStats; readonly listed: ListedPodStats }> {
    const options = { updateCpuUsage: false, onlyCpuAndMemory: false, sandboxes: true };
    const listed = await this.deps.provider.listPodStats(options, signal);
    const fs = await this.deps.fileSystems?.rootFsStats(signal);
    return { node: { ...this.#node(listed, options), ...defined({ fs }) }, listed };
  }

  /** Only CPU and memory. Mirrors GetCPUAndMemoryStats. @throws RuntimeCallError */
  async getCpuAndMemoryStats(signal: AbortSignal): Promise<Summary> {
    const options = { updateCpuUsage: false, onlyCpuAndMemory: true, sandboxes: false };
    const listed = await this.deps.provider.listPodStats(options, signal);
    return { node: this.#node(listed, options), pods: listed.pods };
  }

  #node({ pods, containers }: ListedPodStats, { updateCpuUsage, sandboxes }: ListOptions): NodeStats {
    const { clock, machine } = this.deps;
    const nowMs = clock.now();
    const ofPods: Usage = {
      coreNanoSeconds: this.#podsCpu.add(usageOf(containers)),
      memoryBytes: pods.reduce((total, { memory }) => total + (memory?.workingSetBytes ?? 0), 0),
    };
    const read: MachineReading = machine?.read() ?? { coreNanoSeconds: 0, memoryBytes: 0 };
    const whole = machine?.includesPods === true ? read : sumOf(read, ofPods);
    const podsContainer: ContainerStats = {
      name: "pods",
      startTimeMs: this.#startTimeMs,
      cpu: this.#rates.pods.statsOf(nowMs, ofPods.coreNanoSeconds, updateCpuUsage),
      memory: this.#memory(nowMs, ofPods.memoryBytes),
    };
    return {
      nodeName: this.options.nodeName,
      systemContainers: [podsContainer, ...this.#kubelet(nowMs, updateCpuUsage)],
      startTimeMs: this.#startTimeMs,
      cpu: this.#rates.node.statsOf(nowMs, whole.coreNanoSeconds, updateCpuUsage),
      memory: this.#memory(nowMs, whole.memoryBytes, read.memoryCapacityBytes),
      ...(sandboxes ? rlimitOf(nowMs, read.processes, machine?.includesPods === true ? [] : pods) : {}),
    };
  }

  #kubelet(timeMs: number, updateStats: boolean): ContainerStats[] {
    const usage = this.deps.readKubelet?.();
    if (usage === undefined) return [];
    const { coreNanoSeconds, rssBytes, pageFaults, majorPageFaults } = usage;
    const memory = { timeMs, usageBytes: rssBytes, workingSetBytes: rssBytes, rssBytes, pageFaults, majorPageFaults };
    const cpu = this.#rates.kubelet.statsOf(timeMs, coreNanoSeconds, updateStats);
    return [{ name: "kubelet", startTimeMs: this.#startTimeMs, cpu, memory }];
  }

  #memory(timeMs: number, bytes: number, capacity = this.options.memoryBytes): MemoryStats {
    const available = capacity === undefined ? {} : { availableBytes: Math.max(0, capacity - bytes) };
    return { timeMs, ...available, usageBytes: bytes, workingSetBytes: bytes, rssBytes: bytes };
  }
}

/** Core nanoseconds of each container, by its ID. */
function usageOf(containers: ListedPodStats["containers"]): ReadonlyMap<string, number> {
  return new Map(
    containers.flatMap(({ containerId, stats: { cpu } }) =>
      cpu?.usageCoreNanoSeconds === undefined ? [] : [[containerId, cpu.usageCoreNanoSeconds]],
    ),
  );
}

/** @param besides pods whose processes the reading excludes */
function rlimitOf(
  timeMs: number,
  processes: MachineReading["processes"],
  besides: readonly PodStats[],
): Pick<NodeStats, "rlimit"> {
  if (processes === undefined) return {};
  const ofPods = besides.reduce((sum, { processStats }) => sum + (processStats?.processCount ?? 0), 0);
  return { rlimit: { timeMs, maxpid: processes.max, curproc: processes.count + ofPods } };
}

function sumOf(left: Usage, right: Usage): Usage {
  return {
    coreNanoSeconds: left.coreNanoSeconds + right.coreNanoSeconds,
    memoryBytes: left.memoryBytes + right.memoryBytes,
  };
}

/** The CPU usage of a system container per second, from its last two readings. */
class CpuRate {
  #before: { readonly atMs: number; readonly coreNanoSeconds: number } | undefined;
  #usageNanoCores: number | undefined;

  /**
   * @param coreNanoSeconds the sum at `timeMs`
   * @param updateStats keeps this reading for the next one; without it the usage per second does not change
   */
  statsOf(timeMs: number, coreNanoSeconds: number, updateStats: boolean): CpuStats {
    const before = this.#before;
    if (updateStats && (before === undefined || timeMs > before.atMs)) {
      const rate = before && Math.floor(((coreNanoSeconds - before.coreNanoSeconds) / (timeMs - before.atMs)) * 1000);
      this.#usageNanoCores = rate === undefined || rate < 0 ? undefined : rate;
      this.#before = { atMs: timeMs, coreNanoSeconds };
    }
    const known = this.#usageNanoCores === undefined ? {} : { usageNanoCores: this.#usageNanoCores };
    return { timeMs, ...known, usageCoreNanoSeconds: coreNanoSeconds };
  }
}
