import { describe, expect, test } from "vitest";
import {
  makeSignalObservations,
  type Observation,
  type Observations,
} from "../../../src/kubelet/eviction/observations.js";
import { parseThresholdConfig } from "../../../src/kubelet/eviction/parse.js";
import type { PressureCondition, Signal, Threshold } from "../../../src/kubelet/eviction/threshold.js";
import {
  mergeThresholds,
  nodeConditions,
  nodeConditionsLastObservedAt,
  nodeConditionsObservedSince,
  thresholdsFirstObservedAt,
  thresholdsMet,
  thresholdsMetGracePeriod,
  thresholdsUpdatedStats,
  thresholdToReclaim,
} from "../../../src/kubelet/eviction/thresholds-met.js";

/** `memory.available<1Gi`, with `@10s` and `+500Mi` as in a configuration; the derived one for allocatable memory is left out */
function thresholds(list: string): Threshold[] {
  return list
    .split(" ")
    .filter(Boolean)
    .map((text) => {
      const [, signal = "", value = "", grace, reclaim] = /^([\w.]+)<([^@+]+)(?:@(\w+))?(?:\+(.+))?$/.exec(text) ?? [];
      const [threshold] = parseThresholdConfig({
        ...(grace === undefined ? { evictionHard: { [signal]: value } } : { evictionSoft: { [signal]: value } }),
        ...(grace === undefined ? {} : { evictionSoftGracePeriod: { [signal]: grace } }),
        ...(reclaim === undefined ? {} : { evictionMinimumReclaim: { [signal]: reclaim } }),
      });
      if (threshold === undefined) throw new Error(text);
      return threshold;
    });
}

const Mi = 1024 * 1024;

/** `memory.available=500/2000` in Mi, `@5` measured at */
function observations(list: string): Observations {
  const parsed = list
    .split(" ")
    .filter(Boolean)
    .map((text) => {
      const [, signal = "", available, capacity, time] = /^([\w.]+)=(\d+)\/(\d+)(?:@(\d+))?$/.exec(text) ?? [];
      const timeMs = time === undefined ? {} : { timeMs: Number(time) };
      return [
        signal as Signal,
        { available: Number(available) * Mi, capacity: Number(capacity) * Mi, ...timeMs },
      ] as const;
    });
  return new Map(parsed);
}

const names = (list: readonly Threshold[]) => list.map(({ signal }) => signal).join(" ");

describe("met", () => {
  const table = [
    // thresholds                   observations                 with minimum reclaim   met
    ["", "memory.available=500/2000", false, ""],
    ["memory.available<1Gi", "", false, ""],
    ["memory.available<1Gi+500Mi", "memory.available=500/2000", false, "memory.available"],
    ["memory.available<1Gi+500Mi", "memory.available=1024/2000", false, ""],
    ["memory.available<1Gi+500Mi", "memory.available=1023/2000", false, "memory.available"],
    ["memory.available<1Gi+500Mi", "memory.available=1200/2000", false, ""],
    ["memory.available<1Gi+500Mi", "memory.available=1200/2000", true, "memory.available"],
    ["memory.available<1Gi+500Mi", "memory.available=1523/2000", true, "memory.available"],
    ["memory.available<1Gi+500Mi", "memory.available=1524/2000", true, ""],
    ["memory.available<1Gi", "memory.available=1200/2000", true, ""],
    ["memory.available<20%", "memory.available=500/4000", false, "memory.available"],
    ["memory.available<20%", "memory.available=900/4000", false, ""],
    ["memory.available<20%+10%", "memory.available=900/4000", true, "memory.available"],
    ["memory.available<20%+10%", "memory.available=1300/4000", true, ""],
    [
      "nodefs.available<10% imagefs.available<15%",
      "nodefs.available=12/100 imagefs.available=12/100",
      false,
      "imagefs.available",
    ],
    ["pid.available<100Mi", "pid.available=99/500", false, "pid.available"],
  ] as const;
  for (const [configured, observed, enforceMinReclaim, want] of table) {
    test(`${configured || "none"}, ${observed || "nothing measured"}, reclaim ${enforceMinReclaim}: ${want || "none"}`, () => {
      expect(names(thresholdsMet(thresholds(configured), observations(observed), enforceMinReclaim))).toBe(want);
    });
  }
});

describe("time", () => {
  test("a threshold is met since its first observation, until it is not observed; a hard and a soft one are two", () => {
    const both = thresholds("memory.available<1Gi memory.available<2Gi@1m");
    const [hard, soft] = both;
    if (hard === undefined || soft === undefined) throw new Error("two thresholds");
    const first = thresholdsFirstObservedAt([soft], new Map(), 1_000);
    const second = thresholdsFirstObservedAt(both, first, 5_000);
    expect([...second.values()].map(({ atMs }) => atMs)).toEqual([5_000, 1_000]);
    expect(thresholdsMetGracePeriod(second, 60_999)).toEqual([hard]);
    expect(thresholdsMetGracePeriod(second, 61_000)).toEqual([hard, soft]);
    const third = thresholdsFirstObservedAt([hard], second, 62_000);
    expect([...thresholdsFirstObservedAt(both, third, 63_000).values()].map(({ atMs }) => atMs)).toEqual([
      5_000, 63_000,
    ]);
  });

  test("equal thresholds are merged", () => {
    const a = thresholds("memory.available<1Gi nodefs.available<10%");
    const b = thresholds("nodefs.available<10% nodefs.available<20% memory.available<1Gi@10s");
    expect(names(mergeThresholds(a, b))).toBe("memory.available nodefs.available nodefs.available memory.available");
  });

  const stats = [
    // last                            now                              acted on
    ["", "memory.available=1/2@5", true],
    ["memory.available=1/2@5", "memory.available=1/2@6", true],
    ["memory.available=1/2@5", "memory.available=1/2@5", false],
    // Statistics that go backwards are no news.
    ["memory.available=1/2@5", "memory.available=1/2@4", false],
    ["memory.available=1/2@5", "memory.available=1/2", true],
    ["memory.available=1/2", "memory.available=1/2@4", true],
    ["memory.available=1/2@5", "", false],
  ] as const;
  for (const [last, now, isActedOn] of stats) {
    test(`measured ${last || "never"}, then ${now || "not"}: ${isActedOn ? "acted on" : "no news"}`, () => {
      const updated = thresholdsUpdatedStats(thresholds("memory.available<1Gi"), observations(now), observations(last));
      expect(updated).toHaveLength(isActedOn ? 1 : 0);
    });
  }
});

describe("conditions", () => {
  const table = [
    ["memory.available<1Gi", "MemoryPressure"],
    ["allocatableMemory.available<1Gi", "MemoryPressure"],
    ["nodefs.available<1Gi", "DiskPressure"],
    ["nodefs.inodesFree<1Gi", "DiskPressure"],
    ["imagefs.available<1Gi", "DiskPressure"],
    ["imagefs.inodesFree<1Gi", "DiskPressure"],
    ["pid.available<1Gi", "PIDPressure"],
    ["memory.available<1Gi memory.available<2Gi@5s", "MemoryPressure"],
    ["imagefs.available<1Gi memory.available<1Gi nodefs.inodesFree<5%", "DiskPressure MemoryPressure"],
    ["", ""],
  ] as const;
  for (const [met, want] of table) {
    test(`${met || "none"}: ${want || "none"}`, () => {
      expect(nodeConditions(thresholds(met)).join(" ")).toBe(want);
    });
  }

  const periods = [
    // last observed, s ago   period, s   reported
    [0, 300, true],
    [299, 300, true],
    [300, 300, false],
    [0, 0, false],
  ] as const;
  for (const [ago, period, isReported] of periods) {
    test(`observed ${ago} s ago, with a transition period of ${period} s: ${isReported}`, () => {
      const nowMs = 1_000_000;
      const before = nodeConditionsLastObservedAt(["MemoryPressure"], new Map(), nowMs - ago * 1_000);
      const observedAt = nodeConditionsLastObservedAt([], before, nowMs);
      const want: PressureCondition[] = isReported ? ["MemoryPressure"] : [];
      expect(nodeConditionsObservedSince(observedAt, period * 1_000, nowMs)).toEqual(want);
    });
  }
});

const priorities = [
  ["nodefs.available<1Gi memory.available<1Gi", "memory.available"],
  ["imagefs.inodesFree<1Gi allocatableMemory.available<1Gi", "allocatableMemory.available"],
  ["pid.available<1Gi nodefs.available<1Gi", "pid.available"],
  ["nodefs.available<1Gi", "nodefs.available"],
  ["", undefined],
] as const;
for (const [met, want] of priorities) {
  test(`of ${met || "none"}, ${want} is reclaimed first`, () => {
    expect(thresholdToReclaim(thresholds(met))?.signal).toBe(want);
  });
}

describe("observations", () => {
  const at = { timeMs: 5 };
  const seen = (available: number, capacity: number): Observation => ({ available, capacity, ...at });
  const pods = { name: "pods", startTimeMs: 0 };
  const table: readonly (readonly [string, object, Partial<Record<Signal, Observation>>])[] = [
    ["nothing", {}, {}],
    ["memory", { memory: { ...at, availableBytes: 3, workingSetBytes: 7 } }, { "memory.available": seen(3, 10) }],
    ["memory without a working set", { memory: { ...at, availableBytes: 3 } }, {}],
    [
      "the pods' memory",
      { systemContainers: [{ ...pods, memory: { ...at, availableBytes: 1, workingSetBytes: 2 } }] },
      { "allocatableMemory.available": seen(1, 3) },
    ],
    [
      "the kubelet's memory",
      { systemContainers: [{ ...pods, name: "kubelet", memory: { ...at, availableBytes: 1, workingSetBytes: 2 } }] },
      {},
    ],
    [
      "nodefs",
      { fs: { ...at, availableBytes: 1, capacityBytes: 9, inodesFree: 2, inodes: 8 } },
      { "nodefs.available": seen(1, 9), "nodefs.inodesFree": seen(2, 8) },
    ],
    ["nodefs' inodes only", { fs: { ...at, inodesFree: 2, inodes: 8 } }, { "nodefs.inodesFree": seen(2, 8) }],
    [
      "imagefs",
      { runtime: { imageFs: { ...at, availableBytes: 1, capacityBytes: 9, inodesFree: 2, inodes: 8 } } },
      { "imagefs.available": seen(1, 9), "imagefs.inodesFree": seen(2, 8) },
    ],
    [
      "imagefs' inodes only: upstream reads them with the bytes",
      { runtime: { imageFs: { ...at, inodesFree: 2, inodes: 8 } } },
      {},
    ],
    ["processes", { rlimit: { ...at, maxpid: 100, curproc: 30 } }, { "pid.available": seen(70, 100) }],
    ["processes without a limit", { rlimit: { ...at, curproc: 30 } }, {}],
  ];
  for (const [what, node, want] of table) {
    test(`${what}: ${Object.keys(want).join(", ") || "none"}`, () => {
      const found = makeSignalObservations({ node: { nodeName: "n", ...node }, pods: [] });
      expect(Object.fromEntries(found)).toEqual(want);
    });
  }
});
