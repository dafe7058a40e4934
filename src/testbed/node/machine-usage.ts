import { readFileSync } from "node:fs";
import { SYSTEM_BYTES } from "../../cluster/runtime/state/usage.js";
import type { MachineUsage } from "../../kubelet/stats/machine-usage.js";
import type { Clock } from "../../util/clock.js";

/** The usage of a simulated machine's system: its kubelet and its container runtime. */
const SYSTEM = { milliCores: 25, memoryBytes: SYSTEM_BYTES, processes: 2 } as const;
/** Linux' default for pid_max. */
const MAX_PIDS = 32_768;
const NS_PER_MS_AND_MILLI_CORE = 1_000;

/** The machine of a node whose pods run in the embedded runtime: its system uses a fixed part of it. */
export function simulatedUsage(clock: Clock): MachineUsage {
  const startMs = clock.now();
  return {
    includesPods: false,
    read: () => ({
      coreNanoSeconds: (clock.now() - startMs + 1) * SYSTEM.milliCores * NS_PER_MS_AND_MILLI_CORE,
      memoryBytes: SYSTEM.memoryBytes,
      processes: { count: SYSTEM.processes, max: MAX_PIDS },
    }),
  };
}

/** USER_HZ: the unit of /proc/stat on all Linux machines. */
const NS_PER_TICK = 1e9 / 100;

/** Mirrors Stats in pkg/kubelet/stats/pidlimit/pidlimit_linux.go. */
function tasks() {
  const numberIn = (path: string) => Number(readFileSync(path, "utf8"));
  const max = Math.min(numberIn("/proc/sys/kernel/pid_max"), numberIn("/proc/sys/kernel/threads-max"));
  const count = Number(/\/(\d+) /.exec(readFileSync("/proc/loadavg", "utf8"))?.[1] ?? 0);
  return { count, max };
}

/** This machine, as Linux reports it. @returns undefined on other systems */
export function realUsage(): MachineUsage | undefined {
  const read = () => {
    const stat = readFileSync("/proc/stat", "utf8");
    const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = (/^cpu +(.*)$/m.exec(stat)?.[1] ?? "")
      .split(" ")
      .map(Number);
    const meminfo = readFileSync("/proc/meminfo", "utf8");
    const bytes = (name: string) => Number(new RegExp(`^${name}: +(\\d+) kB`, "m").exec(meminfo)?.[1] ?? 0) * 1024;
    return {
      coreNanoSeconds: (user + nice + system + irq + softIrq + steal) * NS_PER_TICK,
      memoryBytes: bytes("MemTotal") - bytes("MemAvailable"),
      memoryCapacityBytes: bytes("MemTotal"),
      processes: tasks(),
    };
  };
  try {
    read();
  } catch {
    return undefined; // not a Linux machine
  }
  return { includesPods: true, read };
}
