import { readdir, readFile } from "node:fs/promises";
import type { KubeletMetrics } from "../kubelet-metrics.js";

/** USER_HZ: the unit of /proc/self/stat on all Linux machines. */
const TICKS_PER_SECOND = 100;

/** What Linux prints as `unlimited`, as client_golang reads it. */
const UNLIMITED = 2 ** 64;

const PROCESS_METRICS = [
  "process_cpu_seconds_total",
  "process_max_fds",
  "process_open_fds",
  "process_resident_memory_bytes",
  "process_virtual_memory_bytes",
  "process_virtual_memory_max_bytes",
] as const;

type ProcessReading = Readonly<Record<(typeof PROCESS_METRICS)[number], number>>;

/**
 * Measures the process that the kubelet runs in: with `kubelab node`, its control plane as well.
 *
 * Mirrors processCollect of client_golang (process_collector_other.go).
 * @throws the file system's error on machines without /proc
 */
async function readProcess(): Promise<ProcessReading> {
  const [stat, status, limits, files] = await Promise.all([
    readFile("/proc/self/stat", "utf8"),
    readFile("/proc/self/status", "utf8"),
    readFile("/proc/self/limits", "utf8"),
    readdir("/proc/self/fd"),
  ]);
  // The second field, a name in brackets, can contain spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [userTicks, systemTicks] = [Number(fields[11]), Number(fields[12])];
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1024;
  const limit = (name: string) => {
    const [, soft] = new RegExp(`^${name}\\s+(\\S+)`, "m").exec(limits) ?? [];
    return soft === "unlimited" ? UNLIMITED : Number(soft);
  };
  return {
    process_cpu_seconds_total: (userTicks + systemTicks) / TICKS_PER_SECOND,
    process_max_fds: limit("Max open files"),
    process_open_fds: files.length,
    process_resident_memory_bytes: bytes("VmRSS"),
    process_virtual_memory_bytes: bytes("VmSize"),
    process_virtual_memory_max_bytes: limit("Max address space"),
  };
}

/** Replaces the last measurement of the process; unreadable values have no series. */
export async function collectProcess(metrics: KubeletMetrics, read = readProcess): Promise<void> {
  const measured: Partial<ProcessReading> = await read().catch(() => ({}));
  for (const name of PROCESS_METRICS) {
    const { [name]: value = Number.NaN } = measured;
    metrics.replace(name, Number.isNaN(value) ? [] : [{ value }]);
  }
}
