import type { Init } from "../../../staging/apimachinery/protobuf/fields.js";
import type { ContainerStats, PodSandboxStats } from "../../../staging/cri/messages/stats.js";
import type { Container, Sandbox } from "../state/container.js";
import type { RuntimeCore } from "../state/core.js";
import { type Usage, usageOf } from "../state/usage.js";

/** The bytes of a container's writable layer. */
export function writtenBytes({ running }: Container): number {
  return (running?.machine.fs.usedBytes ?? 0) + (running?.load.settings.fillBytes ?? 0);
}

const value = (number: number) => ({ value: BigInt(Math.trunc(number)) });

/** As containerd's, without usageNanoCores, which the kubelet computes from two readings. */
function cpu({ coreNanoSeconds }: Usage, timestamp: bigint) {
  return { timestamp, usageCoreNanoSeconds: value(coreNanoSeconds) };
}

function memory({ memoryBytes }: Usage, limitBytes: number | undefined, timestamp: bigint) {
  return {
    timestamp,
    workingSetBytes: value(memoryBytes),
    ...(limitBytes === undefined ? {} : { availableBytes: value(Math.max(0, limitBytes - memoryBytes)) }),
    usageBytes: value(memoryBytes),
    rssBytes: value(memoryBytes),
  };
}

/** Mirrors containerd's container_stats_list.go. Differs: without page faults, swap and I/O, which are not counted. */
export function containerStats(container: Container, core: RuntimeCore): Init<typeof ContainerStats> {
  const now = core.time.now();
  const { containerId, metadata, config, running } = container;
  const attributes = { id: containerId, metadata, labels: config.labels, annotations: config.annotations };
  const writableLayer = {
    timestamp: now,
    fsId: { mountpoint: core.options.rootDir },
    usedBytes: value(writtenBytes(container)),
    inodesUsed: value(running?.machine.fs.usedInodes ?? 0),
  };
  if (!container.isRunning) return { attributes, writableLayer };
  const usage = usageOf(container);
  const limitBytes = running?.machine.memory.limitBytes;
  return { attributes, cpu: cpu(usage, now), memory: memory(usage, limitBytes, now), writableLayer };
}

/** Mirrors containerd's sandbox_stats_linux.go. Differs: without the network's bytes, which are not counted. */
export function sandboxStats(sandbox: Sandbox, core: RuntimeCore): Init<typeof PodSandboxStats> {
  const now = core.time.now();
  const usages = [...sandbox.containers].map(usageOf);
  const sum = (pick: (usage: Usage) => number) => usages.reduce((total, usage) => total + pick(usage), 0);
  const total: Usage = {
    processes: sum(({ processes }) => processes),
    coreNanoSeconds: sum(({ coreNanoSeconds }) => coreNanoSeconds),
    memoryBytes: sum(({ memoryBytes }) => memoryBytes),
  };
  const { sandboxId, metadata, config } = sandbox;
  return {
    attributes: { id: sandboxId, metadata, labels: config.labels, annotations: config.annotations },
    linux: {
      cpu: cpu(total, now),
      memory: memory(total, undefined, now),
      // The sandbox's own process is one of them.
      process: { timestamp: now, processCount: value(1 + total.processes) },
      containers: [...sandbox.containers].filter(({ isRunning }) => isRunning).map((one) => containerStats(one, core)),
    },
  };
}
