import { NS_PER_UNIT } from "../../shell/process/cpu.js";
import type { Container } from "./container.js";

/** The CPU time of a container's start: its runtime and its first process. */
const START_NS = 20_000_000;
/** The memory of any process: its stack and the pages of its program. */
const BASE_BYTES_PER_PROCESS = 512 * 1024;
/** The kernel counts the pages of a cgroup. */
const PAGE_BYTES = 4096;
/** The memory of a node's system: its kubelet and its container runtime. */
export const SYSTEM_BYTES = 48 * 1024 * 1024;

export interface Usage {
  readonly processes: number;
  readonly coreNanoSeconds: number;
  readonly memoryBytes: number;
}

/** What a container uses now: its statistics, and the files of its cgroup. */
export function usageOf({ isRunning, running }: Container): Usage {
  if (!isRunning || running === undefined) return { processes: 0, coreNanoSeconds: 0, memoryBytes: 0 };
  const { machine, load } = running;
  const { own, cpu, memory } = machine;
  return {
    processes: own.size,
    coreNanoSeconds: START_NS + cpu.usedUnits * NS_PER_UNIT + load.coreNanoSeconds,
    memoryBytes: own.size * BASE_BYTES_PER_PROCESS + Math.ceil(memory.usedBytes / PAGE_BYTES) * PAGE_BYTES,
  };
}
