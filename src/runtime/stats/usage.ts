import type { Init } from "../../apimachinery/protobuf/fields.js";
import type { ContainerStats, PodSandboxStats } from "../../cri/messages/stats.js";
import type { Container, Sandbox } from "../state/container.js";
import type { RuntimeCore } from "../state/core.js";

/**
 * The resource usage of containers. Nothing is measured, because the processes are functions in one thread. A process
 * counts as a fixed part of a core and some memory; file system usage and the memory account are real.
 */
const NANO_CORES_PER_PROCESS = 1_000_000n; // a thousandth of a core
const BYTES_PER_PROCESS = 1_000_000;
const NS_PER_S = 1_000_000_000n;

interface Usage {
  readonly processes: number;
  readonly nanoCores: bigint;
  readonly coreNanoSeconds: bigint;
  readonly memoryBytes: number;
  readonly limitBytes: number | undefined;
}

function usageOf({ phase, running }: Container, now: bigint): Usage {
  const isRunning = phase.state === "running" && running !== undefined;
  const processes = isRunning ? running.machine.processes.list().length : 0;
  const ranNs = phase.state === "running" ? now - phase.startedAt : 0n;
  return {
    processes,
    nanoCores: NANO_CORES_PER_PROCESS * BigInt(processes),
    coreNanoSeconds: (ranNs * NANO_CORES_PER_PROCESS) / NS_PER_S,
    memoryBytes: isRunning ? processes * BYTES_PER_PROCESS + running.machine.memory.usedBytes : 0,
    limitBytes: running?.machine.memory.limitBytes,
  };
}

const value = (number: number | bigint) => ({ value: BigInt(Math.trunc(Number(number))) });

function cpu(usage: Pick<Usage, "nanoCores" | "coreNanoSeconds">, timestamp: bigint) {
  return {
    timestamp,
    usageCoreNanoSeconds: { value: usage.coreNanoSeconds },
    usageNanoCores: { value: usage.nanoCores },
  };
}

function memory({ memoryBytes, limitBytes }: Pick<Usage, "memoryBytes" | "limitBytes">, timestamp: bigint) {
  return {
    timestamp,
    workingSetBytes: value(memoryBytes),
    ...(limitBytes === undefined ? {} : { availableBytes: value(Math.max(0, limitBytes - memoryBytes)) }),
    usageBytes: value(memoryBytes),
    rssBytes: value(memoryBytes),
    pageFaults: value(0),
    majorPageFaults: value(0),
  };
}

/** Mirrors containerd's container_stats_list.go. */
export function containerStats(container: Container, core: RuntimeCore): Init<typeof ContainerStats> {
  const now = core.time.now();
  const usage = usageOf(container, now);
  const { containerId, metadata, config } = container;
  const attributes = { id: containerId, metadata, labels: config.labels, annotations: config.annotations };
  const writableLayer = {
    timestamp: now,
    fsId: { mountpoint: core.options.rootDir },
    usedBytes: value(container.running?.machine.fs.usedBytes ?? 0),
    inodesUsed: value(1),
  };
  if (!container.isRunning) return { attributes, writableLayer };
  return {
    attributes,
    cpu: cpu(usage, now),
    memory: memory(usage, now),
    writableLayer,
    swap: { timestamp: now, swapAvailableBytes: value(0), swapUsageBytes: value(0) },
  };
}

/** Mirrors containerd's sandbox_stats_linux.go. */
export function sandboxStats(sandbox: Sandbox, core: RuntimeCore): Init<typeof PodSandboxStats> {
  const now = core.time.now();
  const usages = [...sandbox.containers].map((container) => usageOf(container, now));
  const sum = (pick: (usage: Usage) => number) => usages.reduce((total, usage) => total + pick(usage), 0);
  const { sandboxId, metadata, config } = sandbox;
  return {
    attributes: { id: sandboxId, metadata, labels: config.labels, annotations: config.annotations },
    linux: {
      cpu: cpu(
        {
          nanoCores: BigInt(sum(({ nanoCores }) => Number(nanoCores))),
          coreNanoSeconds: BigInt(sum(({ coreNanoSeconds }) => Number(coreNanoSeconds))),
        },
        now,
      ),
      memory: memory({ memoryBytes: sum(({ memoryBytes }) => memoryBytes), limitBytes: undefined }, now),
      ...(sandbox.usesHostNetwork
        ? {}
        : {
            network: {
              timestamp: now,
              defaultInterface: {
                name: "eth0",
                rxBytes: value(0),
                rxErrors: value(0),
                txBytes: value(0),
                txErrors: value(0),
              },
            },
          }),
      process: { timestamp: now, processCount: value(1 + sum(({ processes }) => processes)) },
      containers: [...sandbox.containers].filter(({ isRunning }) => isRunning).map((one) => containerStats(one, core)),
    },
  };
}
