import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Clock } from "../../util/clock.js";
import type { FsStats, PodStats, VolumeStats } from "../apis/stats/v1alpha1.js";
import { buildContainerLogsDirectory } from "../kuberuntime/logs/log-paths.js";
import { hasMetrics, isLocalEphemeralVolume } from "../volumes/plugins.js";
import { diskUsage, sumDiskUsage } from "./disk-usage.js";
import { onFileSystem } from "./file-systems.js";

export interface PodDiskStatsDeps {
  readonly getPodByUid: (podUid: string) => V1Pod | undefined;
  readonly getMountedVolumes: (podUid: string) => ReadonlyMap<string, { readonly hostPath: string }>;
  readonly clock: Clock;
}

export interface PodDiskStatsOptions {
  /** upstream /var/log/pods */
  readonly podLogsDirectory: string;
  /** the time for which a measurement is used: `volumeStatsAggPeriod` */
  readonly periodMs: number;
}

interface Measured {
  readonly atMs: number;
  readonly volume: readonly VolumeStats[];
  /** the sum of the volumes that count as the pod's local storage */
  readonly ephemeral: readonly string[];
  /** the sum of the volumes that are not on the node's disk */
  readonly inMemory: readonly string[];
  /** by container */
  readonly logs: ReadonlyMap<string, FsStats>;
}

/**
 * The usage of pods on the kubelet's own disk: volumes and logs. The folders of a pod are read once a minute.
 *
 * Mirrors pkg/kubelet/server/stats/volume_stat_calculator.go, pkg/kubelet/stats/host_stats_provider.go and, for the sum,
 * calcEphemeralStorage in pkg/kubelet/stats/helper.go.
 * Differs: a secret or token is in a plain folder, so its file system is the node's; logs are as old as volumes.
 */
export class PodDiskStats {
  readonly #measured = new Map<string, Measured>();

  constructor(
    readonly deps: PodDiskStatsDeps,
    readonly options: PodDiskStatsOptions,
  ) {}

  /**
   * The same statistics with volumes, logs and the sum.
   * @param all of the node's pods: others are forgotten
   * @param nodeFs the file system that holds them; undefined: it is not measured
   */
  async withDisk(all: readonly PodStats[], nodeFs: FsStats | undefined, signal: AbortSignal): Promise<PodStats[]> {
    const known = new Set(all.map(({ podRef }) => podRef.uid));
    for (const uid of this.#measured.keys()) if (!known.has(uid)) this.#measured.delete(uid);
    const done: PodStats[] = [];
    for (const stats of all) done.push(merge(stats, await this.#of(stats, signal), nodeFs));
    return done;
  }

  async #of(stats: PodStats, signal: AbortSignal): Promise<Measured> {
    const { uid } = stats.podRef;
    const before = this.#measured.get(uid);
    const atMs = this.deps.clock.now();
    if (before !== undefined && atMs - before.atMs < this.options.periodMs) return before;
    const measured = await this.#measure(stats, atMs, signal);
    this.#measured.set(uid, measured);
    return measured;
  }

  async #measure({ podRef, containers }: PodStats, atMs: number, signal: AbortSignal): Promise<Measured> {
    const mounted = this.deps.getMountedVolumes(podRef.uid);
    const volume: VolumeStats[] = [];
    const ephemeral: string[] = [];
    const inMemory: string[] = [];
    for (const one of this.deps.getPodByUid(podRef.uid)?.spec.volumes ?? []) {
      const { name, emptyDir } = one;
      const path = mounted.get(name)?.hostPath;
      if (path === undefined || !hasMetrics(one)) continue;
      volume.push({ name, timeMs: atMs, ...(await diskUsage(path, signal)) });
      if (isLocalEphemeralVolume(one)) ephemeral.push(name);
      if (emptyDir?.medium === "Memory") inMemory.push(name);
    }
    const logs = new Map<string, FsStats>();
    for (const { name } of containers) {
      const folder = buildContainerLogsDirectory(this.options.podLogsDirectory, podRef, name);
      logs.set(name, { timeMs: atMs, ...(await diskUsage(folder, signal)) });
    }
    return { atMs, volume, ephemeral, inMemory, logs };
  }
}

function merge(
  stats: PodStats,
  { atMs, volume: volumes, ephemeral, inMemory, logs }: Measured,
  nodeFs: FsStats | undefined,
): PodStats {
  // A volume in memory has a size of its own.
  const volume = volumes.map((one) => (inMemory.includes(one.name) ? one : onFileSystem(one, nodeFs)));
  const containers = stats.containers.map((one) => {
    const log = logs.get(one.name);
    return log === undefined ? one : { ...one, logs: onFileSystem(log, nodeFs) };
  });
  const parts: readonly (FsStats | undefined)[] = [
    ...containers.flatMap(({ rootfs, logs: log }) => [rootfs, log]),
    ...volume.filter(({ name }) => ephemeral.includes(name)),
  ];
  const ephemeralStorage = onFileSystem({ timeMs: atMs, ...sumDiskUsage(parts) }, nodeFs);
  return { ...stats, containers, ...(volume.length === 0 ? {} : { volume }), ephemeralStorage };
}
