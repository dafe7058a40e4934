import assert from "node:assert/strict";
import { test } from "vitest";
import type { PodStats } from "../../../src/kubelet/apis/stats/v1alpha1.js";
import type { ListedPodStats, ListOptions } from "../../../src/kubelet/stats/cri-stats-provider.js";
import { PodsCpuTime } from "../../../src/kubelet/stats/machine-usage.js";
import { summaryJson } from "../../../src/kubelet/stats/summary-json.js";
import { SummaryProvider } from "../../../src/kubelet/stats/summary-provider.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";

const signal = new AbortController().signal;

function pods(cpu: Readonly<Record<string, number>>, memoryBytes = 0): ListedPodStats {
  return {
    pods: [
      {
        podRef: { name: "web", namespace: "default", uid: "u" },
        startTimeMs: START_MS,
        containers: [],
        memory: { timeMs: START_MS, workingSetBytes: memoryBytes },
      },
    ],
    containers: Object.entries(cpu).map(([containerId, usageCoreNanoSeconds]) => ({
      ...{ containerId, image: "busybox", podRef: { name: "web", namespace: "default", uid: "u" } },
      stats: { name: containerId, startTimeMs: START_MS, cpu: { timeMs: START_MS, usageCoreNanoSeconds } },
    })),
  };
}

test("the CPU time of pods never goes backwards: a container that ended keeps its share", () => {
  const total = new PodsCpuTime();
  const steps: readonly [Readonly<Record<string, number>>, number][] = [
    [{ a: 5 }, 5],
    [{ a: 7, b: 1 }, 8],
    [{ b: 2 }, 9],
    [{}, 9],
    [{ c: 3 }, 12],
    // The runtime restarted and counts from 0.
    [{ c: 1 }, 13],
  ];
  for (const [running, want] of steps) assert.equal(total.add(new Map(Object.entries(running))), want);
});

test("the node uses what its pods and its system use; memory that is left is of its capacity", async () => {
  const clock = new FakeClock();
  let listed = pods({ a: 1_000 }, 300);
  const machine = { includesPods: false, read: () => ({ coreNanoSeconds: 50, memoryBytes: 100 }) };
  const provider = new SummaryProvider(
    { clock, provider: { listPodStats: async () => listed }, machine },
    { nodeName: "n1", memoryBytes: 1_000 },
  );
  const { node } = await provider.get(true, signal);
  assert.deepEqual(node.cpu, { timeMs: START_MS, usageCoreNanoSeconds: 1_050 });
  assert.equal(node.memory?.workingSetBytes, 400);
  assert.equal(node.memory?.availableBytes, 600);
  assert.equal(node.systemContainers?.[0]?.name, "pods");
  assert.equal(node.systemContainers?.[0]?.memory?.workingSetBytes, 300);
  await clock.advance(2_000);
  listed = pods({ a: 501_000 });
  assert.equal((await provider.get(true, signal)).node.cpu?.usageNanoCores, 250_000);
  // Only the eviction manager takes readings.
  await clock.advance(2_000);
  listed = pods({ a: 9_501_000 });
  assert.equal((await provider.get(false, signal)).node.cpu?.usageNanoCores, 250_000);
});

test("the kubelet and all pods have rows of their own, with CPU per second as soon as there are two readings", async () => {
  const clock = new FakeClock();
  let coreNanoSeconds = 1_000;
  const readKubelet = () => ({ coreNanoSeconds, rssBytes: 7, pageFaults: 5, majorPageFaults: 2 });
  const provider = new SummaryProvider(
    { clock, provider: { listPodStats: async () => pods({ a: coreNanoSeconds * 2 }) }, readKubelet },
    { nodeName: "n1", memoryBytes: 1_000 },
  );
  const before = (await provider.get(true, signal)).node.systemContainers ?? [];
  assert.deepEqual(
    before.map(({ name, cpu }) => [name, cpu?.usageNanoCores]),
    [
      ["pods", undefined],
      ["kubelet", undefined],
    ],
  );
  await clock.advance(1_000);
  coreNanoSeconds = 3_000;
  const [allPods, kubelet] = (await provider.get(true, signal)).node.systemContainers ?? [];
  assert.equal(allPods?.cpu?.usageNanoCores, 4_000);
  const timeMs = START_MS + 1_000;
  assert.deepEqual(kubelet, {
    name: "kubelet",
    startTimeMs: START_MS,
    cpu: { timeMs, usageNanoCores: 2_000, usageCoreNanoSeconds: 3_000 },
    memory: { timeMs, usageBytes: 7, workingSetBytes: 7, rssBytes: 7, pageFaults: 5, majorPageFaults: 2 },
  });
});

test("a real machine's reading has its pods in it", async () => {
  const provider = new SummaryProvider(
    {
      clock: new FakeClock(),
      provider: { listPodStats: async () => pods({ a: 1_000 }, 300) },
      machine: { includesPods: true, read: () => ({ coreNanoSeconds: 5_000, memoryBytes: 700 }) },
    },
    { nodeName: "n1" },
  );
  const { node } = await provider.get(false, signal);
  assert.equal(node.cpu?.usageCoreNanoSeconds, 5_000);
  assert.equal(node.memory?.workingSetBytes, 700);
  assert.equal(node.memory?.availableBytes, undefined);
});

test("a real machine knows its memory and processes, whatever the node says that it has", async () => {
  const processes = { count: 80, max: 32_768 };
  const read = () => ({ coreNanoSeconds: 0, memoryBytes: 700, memoryCapacityBytes: 1_000, processes });
  const provider = new SummaryProvider(
    {
      clock: new FakeClock(),
      provider: { listPodStats: async () => pods({}, 300) },
      machine: { includesPods: true, read },
    },
    { nodeName: "n1", memoryBytes: 500 },
  );
  const { node } = await provider.get(false, signal);
  assert.equal(node.memory?.availableBytes, 300);
  assert.equal(node.systemContainers?.[0]?.memory?.availableBytes, 200);
  assert.deepEqual(node.rlimit, { timeMs: START_MS, maxpid: 32_768, curproc: 80 });
});

test("file systems are part of the whole summary only; if one cannot be measured, there is none", async () => {
  let isMeasured = true;
  const fileSystems = {
    rootFsStats: async () => ({ timeMs: START_MS, availableBytes: 1 }),
    imageFsStats: async () => {
      if (!isMeasured) throw new Error("imageFs information is unavailable");
      return { timeMs: START_MS, availableBytes: 2 };
    },
  };
  const provider = new SummaryProvider(
    { clock: new FakeClock(), provider: { listPodStats: async () => pods({}) }, fileSystems },
    { nodeName: "n1" },
  );
  const { node } = await provider.get(true, signal);
  assert.deepEqual([node.fs?.availableBytes, node.runtime?.imageFs?.availableBytes], [1, 2]);
  isMeasured = false;
  await assert.rejects(provider.get(true, signal), /imageFs information is unavailable/);
  assert.equal((await provider.getCpuAndMemoryStats(signal)).node.fs, undefined);
});

test("in JSON, times are whole seconds and fields have upstream's names", () => {
  const text = summaryJson({
    node: { nodeName: "n1", startTimeMs: START_MS, cpu: { timeMs: START_MS + 1_999, usageCoreNanoSeconds: 0 } },
    pods: [
      {
        podRef: { name: "web", namespace: "default", uid: "u" },
        startTimeMs: START_MS,
        containers: [],
        ephemeralStorage: { timeMs: START_MS, usedBytes: 1 },
        processStats: { processCount: 2 },
      },
    ],
  });
  assert.deepEqual(JSON.parse(text), {
    node: {
      nodeName: "n1",
      startTime: "2026-01-01T00:00:00Z",
      cpu: { time: "2026-01-01T00:00:01Z", usageCoreNanoSeconds: 0 },
    },
    pods: [
      {
        podRef: { name: "web", namespace: "default", uid: "u" },
        startTime: "2026-01-01T00:00:00Z",
        containers: [],
        "ephemeral-storage": { time: "2026-01-01T00:00:00Z", usedBytes: 1 },
        process_stats: { processCount: 2 },
      },
    ],
  });
});

test("only CPU and memory: nothing of processes, of disks and of the network", async () => {
  const asked: ListOptions[] = [];
  const processes = { count: 80, max: 32_768 };
  const provider = new SummaryProvider(
    {
      clock: new FakeClock(),
      provider: {
        listPodStats: async (options) => {
          asked.push(options);
          return pods({});
        },
      },
      machine: { includesPods: true, read: () => ({ coreNanoSeconds: 0, memoryBytes: 0, processes }) },
    },
    { nodeName: "n1" },
  );
  assert.equal((await provider.getCpuAndMemoryStats(signal)).node.rlimit, undefined);
  assert.equal((await provider.get(true, signal)).node.rlimit?.curproc, 80);
  assert.equal((await provider.get(true, signal, false)).node.rlimit, undefined);
  assert.deepEqual(asked, [
    { updateCpuUsage: false, onlyCpuAndMemory: true, sandboxes: false },
    { updateCpuUsage: true, onlyCpuAndMemory: false, sandboxes: true },
    { updateCpuUsage: true, onlyCpuAndMemory: false, sandboxes: false },
  ]);
});

test("writable layers have the size of the images' file system, the rest of a pod that of the node's", async () => {
  const listed = pods({ app: 1 });
  const rootfs = { timeMs: START_MS, usedBytes: 7 };
  const [pod] = listed.pods;
  const withLayer = {
    ...listed,
    pods: [{ ...(pod as PodStats), containers: [{ name: "app", startTimeMs: 0, rootfs }] }],
  };
  const fileSystems = {
    rootFsStats: async () => ({ timeMs: START_MS, availableBytes: 1 }),
    imageFsStats: async () => ({
      timeMs: START_MS,
      availableBytes: 2,
      capacityBytes: 3,
      inodes: 4,
      inodesFree: 5,
      usedBytes: 6,
    }),
  };
  const asked: unknown[] = [];
  const podDisk = {
    withDisk: async (all: readonly PodStats[], fs: unknown) => {
      asked.push(fs);
      return [...all];
    },
  };
  const provider = new SummaryProvider(
    { clock: new FakeClock(), provider: { listPodStats: async () => withLayer }, fileSystems, podDisk },
    { nodeName: "n1" },
  );
  const summary = await provider.get(false, signal);
  assert.deepEqual(summary.pods[0]?.containers[0]?.rootfs, {
    ...{ timeMs: START_MS, usedBytes: 7 },
    ...{ availableBytes: 2, capacityBytes: 3, inodes: 4, inodesFree: 5 },
  });
  assert.deepEqual(asked, [{ timeMs: START_MS, availableBytes: 1 }]);
});

for (const [includesPods, curproc] of [
  [false, 7],
  [true, 2],
] as const) {
  test(`processes of pods ${includesPods ? "are among" : "come beside"} those of a machine whose reading ${includesPods ? "includes" : "lacks"} them`, async () => {
    const listed = pods({});
    const [pod] = listed.pods;
    const withProcesses = { ...listed, pods: [{ ...(pod as PodStats), processStats: { processCount: 5 } }] };
    const read = () => ({ coreNanoSeconds: 0, memoryBytes: 0, processes: { count: 2, max: 100 } });
    const provider = new SummaryProvider(
      {
        clock: new FakeClock(),
        provider: { listPodStats: async () => withProcesses },
        machine: { includesPods, read },
      },
      { nodeName: "n1" },
    );
    const { node } = await provider.get(true, signal);
    assert.deepEqual(node.rlimit, { timeMs: START_MS, maxpid: 100, curproc });
  });
}
