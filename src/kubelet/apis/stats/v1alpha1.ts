/**
 * The resource usage of a node and its pods.
 *
 * Mirrors k8s.io/kubelet/pkg/apis/stats/v1alpha1/types.go. Times are Unix ms, `time` and `startTime` in JSON; an absent
 * figure is unknown.
 */

/** Mirrors Summary. */
export interface Summary {
  readonly node: NodeStats;
  readonly pods: readonly PodStats[];
}

/** Mirrors NodeStats. */
export interface NodeStats {
  readonly nodeName: string;
  /** all pods together, and the kubelet: `pods`, `kubelet` */
  readonly systemContainers?: readonly ContainerStats[];
  readonly startTimeMs?: number;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  /** where pods' volumes and logs are: nodefs */
  readonly fs?: FsStats;
  readonly runtime?: { readonly imageFs?: FsStats };
  readonly rlimit?: RlimitStats;
}

/** Mirrors PodStats. */
export interface PodStats {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly startTimeMs: number;
  readonly containers: readonly ContainerStats[];
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly network?: NetworkStats;
  /** `volume` in JSON, as upstream */
  readonly volume?: readonly VolumeStats[];
  /** writable layers, logs and volumes on the node's disk together; `ephemeral-storage` in JSON */
  readonly ephemeralStorage?: FsStats;
  /** `process_stats` in JSON */
  readonly processStats?: { readonly processCount: number };
}

/** Mirrors ContainerStats. */
export interface ContainerStats {
  readonly name: string;
  readonly startTimeMs: number;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  /** the writable layer */
  readonly rootfs?: FsStats;
  readonly logs?: FsStats;
}

/** Mirrors CPUStats. */
export interface CpuStats {
  readonly timeMs: number;
  /** core nanoseconds per second, from two readings */
  readonly usageNanoCores?: number;
  /** since the start, over all cores */
  readonly usageCoreNanoSeconds?: number;
}

/** Mirrors MemoryStats. */
export interface MemoryStats {
  readonly timeMs: number;
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  readonly workingSetBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
}

/** Mirrors FsStats. */
export interface FsStats {
  readonly timeMs: number;
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
  readonly inodesUsed?: number;
}

/** Mirrors VolumeStats. */
export interface VolumeStats extends FsStats {
  readonly name: string;
  readonly pvcRef?: { readonly name: string; readonly namespace: string };
}

/** Mirrors InterfaceStats. */
export interface InterfaceStats {
  readonly name: string;
  readonly rxBytes?: number;
  readonly rxErrors?: number;
  readonly txBytes?: number;
  readonly txErrors?: number;
}

/** The default interface, and all of them. Mirrors NetworkStats. */
export interface NetworkStats extends Partial<InterfaceStats> {
  readonly timeMs: number;
  readonly interfaces: readonly InterfaceStats[];
}

/** Processes. Mirrors RlimitStats. */
export interface RlimitStats {
  readonly timeMs: number;
  readonly maxpid?: number;
  readonly curproc?: number;
}
