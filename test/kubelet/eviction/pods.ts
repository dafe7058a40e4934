import type { FsStats, PodStats } from "../../../src/kubelet/apis/stats/v1alpha1.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { unitValue } from "../../../src/staging/apimachinery/quantity.js";
import { makePod } from "../podworkers/pods.js";

export interface EvictionPod {
  readonly name: string;
  readonly priority?: number;
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
  readonly volumes?: V1Pod["spec"]["volumes"];
  readonly source?: string;
}

/** A pod with one container, `app`. */
export function podOf({ name, priority, requests, limits, volumes, source }: EvictionPod): V1Pod {
  const resources = { ...(requests === undefined ? {} : { requests }), ...(limits === undefined ? {} : { limits }) };
  return makePod(name, {
    ...(source === undefined ? {} : { source }),
    spec: {
      containers: [{ name: "app", image: "busybox", resources }],
      ...(priority === undefined ? {} : { priority }),
      ...(volumes === undefined ? {} : { volumes }),
    },
    status: { phase: "Running" },
  });
}

export interface Used {
  readonly memory?: string;
  readonly rootfs?: string;
  readonly logs?: string;
  /** by name */
  readonly volumes?: Readonly<Record<string, string>>;
  readonly inodes?: number;
  readonly processes?: number;
}

/** What a pod uses, all of it in its container `app`. */
export function statsOf({ metadata }: V1Pod, used: Used, timeMs = 0): PodStats {
  const { name, namespace, uid } = metadata;
  const fs = (amount: string | undefined): { timeMs: number } & Partial<FsStats> => ({
    timeMs,
    ...(amount === undefined ? {} : { usedBytes: unitValue(amount) }),
  });
  const memory = { timeMs, ...(used.memory === undefined ? {} : { workingSetBytes: unitValue(used.memory) }) };
  const rootfs = { ...fs(used.rootfs), ...(used.inodes === undefined ? {} : { inodesUsed: used.inodes }) };
  const volume = Object.entries(used.volumes ?? {}).map(([one, amount]) => ({ name: one, ...fs(amount) }));
  return {
    podRef: { name, namespace, uid },
    startTimeMs: 0,
    memory,
    containers: [{ name: "app", startTimeMs: 0, memory, rootfs, logs: fs(used.logs) }],
    volume,
    ...(used.processes === undefined ? {} : { processStats: { processCount: used.processes } }),
  };
}
