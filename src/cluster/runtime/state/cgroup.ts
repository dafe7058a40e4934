import { PIDS_LIMIT } from "../../shell/container-machine.js";
import type { KernelFiles } from "../../shell/process/process.js";
import type { Container } from "./container.js";
import { usageOf } from "./usage.js";

const DEFAULT_PERIOD = 100_000;
/** cgroup v1's default, of a container without CPU shares. */
const DEFAULT_SHARES = 1024;
const CONTROLLERS = "cpuset cpu io memory hugetlb pids rdma misc";

/**
 * The files of a container's cgroup (v2), with the limits of the CRI and the usage of the statistics.
 * Mirrors what runc writes: libcontainer/cgroups/fs2.
 */
export function cgroupFiles(container: Container, cpus: number): KernelFiles {
  const limit = (bytes: bigint | undefined) => (bytes === undefined || bytes <= 0n ? "max" : String(bytes));
  const resources = () => container.resources;
  const usage = () => usageOf(container);
  const lines = (fields: Readonly<Record<string, number>>) =>
    Object.entries(fields)
      .map(([name, value]) => `${name} ${value}`)
      .join("\n");
  const files: KernelFiles = {
    "cgroup.controllers": () => CONTROLLERS,
    "cgroup.events": () => lines({ populated: Number(usage().processes > 0), frozen: 0 }),
    "cgroup.procs": () => [...(container.running?.machine.own ?? [])].map(({ pid }) => pid).join("\n"),
    "cgroup.type": () => "domain",
    "cpu.max": () => {
      const { cpuQuota = 0n, cpuPeriod = 0n } = resources() ?? {};
      return `${limit(cpuQuota)} ${cpuPeriod > 0n ? cpuPeriod : DEFAULT_PERIOD}`;
    },
    "cpu.stat": () => {
      const usec = Math.floor(usage().coreNanoSeconds / 1000);
      return lines({ usage_usec: usec, user_usec: usec, system_usec: 0 });
    },
    "cpu.weight": () => String(cpuWeight(Number(resources()?.cpuShares ?? 0n))),
    "cpuset.cpus.effective": () => resources()?.cpusetCpus || (cpus > 1 ? `0-${cpus - 1}` : "0"),
    "memory.current": () => String(usage().memoryBytes),
    "memory.events": () =>
      lines({ low: 0, high: 0, max: 0, oom: 0, oom_kill: container.running?.outOfMemoryKills ?? 0, oom_group_kill: 0 }),
    "memory.high": () => "max",
    "memory.low": () => "0",
    "memory.max": () => limit(resources()?.memoryLimitInBytes),
    "memory.min": () => "0",
    "memory.oom.group": () => resources()?.unified["memory.oom.group"] ?? "0",
    "memory.stat": () => {
      const files = container.running?.machine.memory.fileBytes ?? 0;
      const anon = usage().memoryBytes - files;
      return lines({ anon, file: files, kernel: 0, shmem: files, inactive_anon: 0, inactive_file: 0 });
    },
    "memory.swap.current": () => "0",
    "memory.swap.max": () => "0",
    "pids.current": () => String(usage().processes),
    "pids.max": () => String(PIDS_LIMIT),
  };
  return files;
}

/** Mirrors ConvertCPUSharesToCgroupV2Value in runc's libcontainer/cgroups/utils.go. */
function cpuWeight(shares: number): number {
  const known = shares === 0 ? DEFAULT_SHARES : shares;
  return 1 + Math.floor(((known - 2) * 9999) / 262142);
}
