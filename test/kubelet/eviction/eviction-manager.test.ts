import { describe, expect, test } from "vitest";
import type { Summary } from "../../../src/kubelet/apis/stats/v1alpha1.js";
import type { PodEventOptions } from "../../../src/kubelet/events/pod-recorder.js";
import { EvictionManager } from "../../../src/kubelet/eviction/eviction-manager.js";
import { type EvictionStatements, parseThresholdConfig } from "../../../src/kubelet/eviction/parse.js";
import type { V1Pod, V1PodStatus } from "../../../src/staging/apimachinery/api/pod.js";
import { unitValue } from "../../../src/staging/apimachinery/quantity.js";
import { CountedMetrics } from "../../support/counted.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";
import { type EvictionPod, podOf, statsOf, type Used } from "./pods.js";

const { signal } = new AbortController();

interface LabOptions extends EvictionStatements {
  readonly kubeVersion?: string;
  readonly hasDedicatedImageFs?: boolean;
  readonly maxPodGracePeriodSeconds?: number;
  readonly isolatesLocalStorage?: boolean;
}

/** A node whose statistics the test sets, and whose pods end when they are killed. */
class Node {
  readonly clock = new FakeClock();
  readonly metrics = new CountedMetrics();
  readonly told: string[] = [];
  readonly killed: string[] = [];
  readonly annotations: unknown[] = [];
  readonly statuses: V1PodStatus[] = [];
  readonly trace;
  readonly facts;
  readonly manager: EvictionManager;
  readonly uses = new Map<V1Pod, Used>();
  pods: V1Pod[] = [];
  /** `memory`: available, of 8Gi */
  memory = "4Gi";
  /** available, of 100Gi */
  disk = "50Gi";
  pids = 1_000;
  isMeasured: (() => boolean) | undefined;
  statsMs: (() => number) | undefined;
  isCleanedUp = true;
  killFails = false;
  reclaimed: string[] = [];
  /** what a collection of images or containers does to the node */
  onReclaim: (what: string) => void = () => undefined;

  constructor({
    kubeVersion = "1.25",
    hasDedicatedImageFs = false,
    maxPodGracePeriodSeconds = 0,
    isolatesLocalStorage = true,
    ...rest
  }: LabOptions) {
    ({ trace: this.trace, events: this.facts } = recordingTrace(this.clock));
    const reclaim = (what: string) => async () => {
      this.reclaimed.push(what);
      this.onReclaim(what);
    };
    this.manager = new EvictionManager(
      {
        summaryProvider: { get: async () => this.summary() },
        hasDedicatedImageFs: async () => hasDedicatedImageFs,
        imageGc: { deleteUnusedImages: reclaim("images") },
        containerGc: { deleteAllUnusedContainers: reclaim("containers") },
        getActivePods: () => this.pods,
        podIsCleanedUp: () => this.isCleanedUp,
        agent: { recordEvent: (...event: string[]) => void this.told.push(event.join(" ")) },
        recorder: this,
        killPod: async (pod, grace, statusFunc) => {
          this.killed.push(`${pod.metadata.name}/${grace}`);
          this.statuses.push(statusFunc({ phase: "Running", conditions: [] }));
          this.pods = this.pods.filter((one) => one !== pod);
          if (this.killFails) throw new Error("timeout waiting to kill pod");
        },
        clock: this.clock,
        trace: this.trace,
        metrics: this.metrics,
      },
      {
        thresholds: parseThresholdConfig({ ...rest, enforceNodeAllocatable: ["pods"] }),
        pressureTransitionPeriodMs: 300_000,
        maxPodGracePeriodSeconds,
        isolatesLocalStorage,
        kubeVersion,
      },
    );
  }

  event(pod: V1Pod, type: string, reason: string, message: string, options: PodEventOptions = {}): void {
    this.told.push(`${pod.metadata.name}: ${type} ${reason} ${message}`);
    this.annotations.push(options.annotations);
  }

  add(pod: EvictionPod, used: Used = {}): V1Pod {
    const made = podOf(pod);
    this.pods.push(made);
    this.uses.set(made, used);
    return made;
  }

  summary(): Summary {
    if (this.isMeasured?.() === false) throw new Error("rpc error: code = Unimplemented");
    const timeMs = this.statsMs?.() ?? this.clock.now();
    const available = unitValue(this.memory);
    const disk = { timeMs, availableBytes: unitValue(this.disk), capacityBytes: 100 * 2 ** 30 };
    return {
      node: {
        nodeName: "n",
        memory: { timeMs, availableBytes: available, workingSetBytes: 8 * 2 ** 30 - available },
        fs: disk,
        runtime: { imageFs: disk },
        rlimit: { timeMs, maxpid: 1_000, curproc: 1_000 - this.pids },
      },
      pods: this.pods.map((pod) => statsOf(pod, this.uses.get(pod) ?? {}, timeMs)),
    };
  }

  /** One synchronization. @returns the pods that were killed in it: `name/grace` */
  async sync(): Promise<string> {
    const before = this.killed.length;
    await this.manager.synchronize(signal);
    return this.killed.slice(before).join(" ");
  }

  whats(): string[] {
    return only(this.facts, "decision").map(({ what }) => what);
  }
}

const HARD = { evictionHard: { "memory.available": "1Gi" } };
const SOFT = { evictionSoft: { "memory.available": "2Gi" }, evictionSoftGracePeriod: { "memory.available": "1m" } };

describe("memory", () => {
  test("nothing is short: no condition, no eviction, no fact", async () => {
    const node = new Node(HARD);
    node.add({ name: "a" }, { memory: "4Gi" });
    expect(await node.sync()).toBe("");
    expect(node.manager.conditions).toEqual([]);
    expect(node.told).toEqual([]);
    expect(node.whats()).toEqual(["ignore the thresholds of allocatableMemory.available"]);
  });

  test("below the hard threshold, the pod goes that exceeds its request most; its status and events say so", async () => {
    const node = new Node(HARD);
    node.memory = "1000Mi";
    node.add({ name: "modest", requests: { memory: "1Gi" } }, { memory: "1Gi" });
    node.add({ name: "leaky" }, { memory: "3Gi" });
    node.add({ name: "small" }, { memory: "1Gi" });
    expect(await node.sync()).toBe("leaky/0");
    expect(node.manager.conditions).toEqual(["MemoryPressure"]);
    const message =
      "The node was low on resource: memory. Container app was using 3Gi, which exceeds its request of 0. ";
    expect(node.told).toEqual([
      "Warning EvictionThresholdMet Attempting to reclaim memory",
      `leaky: Warning Evicted ${message}`,
    ]);
    expect(node.annotations).toEqual([
      { offending_containers: "app", offending_containers_usage: "3Gi", starved_resource: "memory" },
    ]);
    expect(node.statuses).toEqual([{ phase: "Failed", reason: "Evicted", message, conditions: [] }]);
    const [met, , ranked] = only(node.facts, "decision");
    expect(met).toMatchObject({
      what: "memory.available is below its threshold of 1Gi",
      why: "1000Mi of 8Gi are available, and 1Gi must be; a hard threshold: act at once",
    });
    expect(ranked).toMatchObject({
      what: "rank 3 pods to reclaim memory",
      why: "1. default/leaky uses 3Gi, requests 0, priority 0; 2. default/small uses 1Gi, requests 0, priority 0; 3. default/modest uses 1Gi, requests 1Gi, priority 0 (by usage above request, then priority, then by how much)",
      compared: {
        columns: ["pod", "usage", "request", "priority"],
        rows: [
          ["default/leaky", "3Gi", "0", "0"],
          ["default/small", "1Gi", "0", "0"],
          ["default/modest", "1Gi", "1Gi", "0"],
        ],
      },
    });
    expect(node.reclaimed).toEqual([]);
  });

  test("exactly the threshold is enough", async () => {
    const node = new Node(HARD);
    node.memory = "1Gi";
    node.add({ name: "a" });
    expect(await node.sync()).toBe("");
  });

  test("one pod goes at a time, and only after new statistics", async () => {
    const node = new Node(HARD);
    node.memory = "1Mi";
    for (const name of ["a", "b", "c"]) node.add({ name });
    expect(await node.sync()).toBe("a/0");
    expect(await node.sync()).toBe("");
    await node.clock.advance(1);
    expect(await node.sync()).toBe("b/0");
  });

  const critical: readonly (readonly [string, Omit<EvictionPod, "name">])[] = [
    ["static", { source: "file" }],
    ["of a system priority", { priority: 2_000_001_000 }],
  ];
  for (const [what, pod] of critical) {
    test(`a pod that is ${what} stays, though it comes first`, async () => {
      const node = new Node(HARD);
      node.memory = "1Mi";
      node.add({ name: "critical", ...pod }, { memory: "7Gi" });
      node.add({ name: "other", priority: 2_000_000 - 1, requests: { memory: "1Gi" } }, { memory: "1Mi" });
      expect(await node.sync()).toBe("other/0");
      await node.clock.advance(1);
      expect(await node.sync()).toBe("");
      expect(only(node.facts, "error").at(-1)?.message).toContain("none of 1 pods may be evicted");
    });
  }

  test("no pods: the condition is reported, and nothing hangs", async () => {
    const node = new Node(HARD);
    node.memory = "1Mi";
    expect(await node.sync()).toBe("");
    expect(node.manager.conditions).toEqual(["MemoryPressure"]);
    expect(only(node.facts, "error")[0]?.message).toContain("no pods are active to evict");
  });

  test("since v1.26 the pod has DisruptionTarget, since v1.31 a second of grace", async () => {
    for (const [kubeVersion, grace, conditions] of [
      ["1.25", 0, 0],
      ["1.26", 0, 1],
      ["1.30", 0, 1],
      ["1.31", 1, 1],
    ] as const) {
      const node = new Node({ ...HARD, kubeVersion });
      node.memory = "1Mi";
      node.add({ name: "a" });
      expect(await node.sync()).toBe(`a/${grace}`);
      expect(node.statuses[0]?.conditions).toHaveLength(conditions);
      if (conditions > 0) {
        expect(node.statuses[0]?.conditions?.[0]).toMatchObject({
          type: "DisruptionTarget",
          status: "True",
          reason: "TerminationByKubelet",
        });
      }
    }
  });

  test("a pod that does not end in time counts as evicted: it has failed", async () => {
    const node = new Node(HARD);
    node.memory = "1Mi";
    node.add({ name: "slow" });
    node.killFails = true;
    expect(await node.sync()).toBe("slow/0");
    expect(only(node.facts, "error")[0]?.message).toContain("failed to evict: timeout waiting to kill pod");
  });
});

describe("soft thresholds", () => {
  test("pressure is reported at once; a pod goes after the grace period, with the configured time to end", async () => {
    const node = new Node({ ...SOFT, maxPodGracePeriodSeconds: 5 });
    node.memory = "1500Mi";
    node.add({ name: "a" });
    expect(await node.sync()).toBe("");
    expect(node.manager.conditions).toEqual(["MemoryPressure"]);
    await node.clock.advance(59_999);
    expect(await node.sync()).toBe("");
    await node.clock.advance(1);
    expect(await node.sync()).toBe("a/5");
  });

  test("the grace period begins again after the threshold was not met", async () => {
    const node = new Node(SOFT);
    node.add({ name: "a" });
    for (const [memory, ms] of [
      ["1500Mi", 50_000],
      ["3Gi", 10_000],
      ["1500Mi", 50_000],
    ] as const) {
      node.memory = memory;
      expect(await node.sync()).toBe("");
      await node.clock.advance(ms);
    }
    expect(await node.sync()).toBe("");
    await node.clock.advance(10_000);
    expect(await node.sync()).toBe("a/0");
  });
});

test("minimum reclaim: pods go until more is free than the threshold asks", async () => {
  const node = new Node({ ...HARD, evictionMinimumReclaim: { "memory.available": "500Mi" } });
  for (const name of ["a", "b", "c"]) node.add({ name });
  const steps = [
    ["1000Mi", "a/0"],
    ["1200Mi", "b/0"], // above the threshold, but not by 500Mi
    ["1523Mi", "c/0"],
    ["1524Mi", ""],
  ] as const;
  for (const [memory, want] of steps) {
    node.memory = memory;
    expect(await node.sync()).toBe(want);
    await node.clock.advance(10_000);
  }
});

test("a condition stays for the transition period after its last observation", async () => {
  const node = new Node(HARD);
  node.memory = "1Mi";
  await node.sync();
  node.memory = "4Gi";
  await node.clock.advance(299_999);
  await node.sync();
  expect(node.manager.conditions).toEqual(["MemoryPressure"]);
  expect(await node.manager.admit({ pod: podOf({ name: "late" }), otherPods: [] })).toMatchObject({ admit: false });
  await node.clock.advance(1);
  await node.sync();
  expect(node.manager.conditions).toEqual([]);
  expect(await node.manager.admit({ pod: podOf({ name: "late" }), otherPods: [] })).toEqual({ admit: true });
  expect(only(node.facts, "state").map(({ what, from, to }) => `${what} ${from} -> ${to}`)).toEqual([
    "MemoryPressure False -> True",
    "MemoryPressure True -> False (not observed for 5m0s)",
  ]);
});

describe("disk", () => {
  const disk = { evictionHard: { "nodefs.available": "10%", "imagefs.available": "15%" } };

  test("unused containers and images go first; if that is enough, no pod", async () => {
    const node = new Node(disk);
    node.disk = "9Gi";
    node.add({ name: "a" });
    node.onReclaim = (what) => {
      if (what === "images") node.disk = "40Gi";
    };
    expect(await node.sync()).toBe("");
    expect(node.reclaimed).toEqual(["containers", "images"]);
    expect(node.manager.conditions).toEqual(["DiskPressure"]);
    expect(node.told).toEqual(["Warning EvictionThresholdMet Attempting to reclaim ephemeral-storage"]);
    expect(node.whats().at(-1)).toBe("evict no pod to reclaim ephemeral-storage");
  });

  test("a disk that stays full costs a pod", async () => {
    const node = new Node(disk);
    node.disk = "9Gi";
    node.add({ name: "small" }, { rootfs: "1Gi" });
    node.add({ name: "large" }, { rootfs: "5Gi", logs: "1Gi" });
    node.onReclaim = (what) => {
      if (what === "images") throw new Error("wanted to free 9007199254740991 bytes, but freed 0 bytes space");
    };
    expect(await node.sync()).toBe("large/0");
    expect(only(node.facts, "error")[0]?.message).toContain(
      "unexpected error when attempting to reduce resource pressure",
    );
  });

  test("with a disk of its own for images, a full nodefs reclaims nothing on the node", async () => {
    const node = new Node({ evictionHard: { "nodefs.available": "10%" }, hasDedicatedImageFs: true });
    node.disk = "9Gi";
    node.add({ name: "logs" }, { logs: "1Gi" });
    node.add({ name: "layer" }, { rootfs: "5Gi" });
    expect(await node.sync()).toBe("logs/0");
    expect(node.reclaimed).toEqual([]);
  });

  test("memory is reclaimed before disk, and both conditions are reported", async () => {
    const node = new Node({ evictionHard: { ...disk.evictionHard, ...HARD.evictionHard } });
    node.disk = "1Gi";
    node.memory = "1Mi";
    node.add({ name: "a" });
    await node.sync();
    expect(node.told[0]).toBe("Warning EvictionThresholdMet Attempting to reclaim memory");
    expect([...node.manager.conditions].sort()).toEqual(["DiskPressure", "MemoryPressure"]);
  });
});

test("processes: the pod of the lowest priority with the most", async () => {
  const node = new Node({ evictionHard: { "pid.available": "10%" } });
  node.pids = 99;
  node.add({ name: "few" }, { processes: 10 });
  node.add({ name: "many" }, { processes: 400 });
  node.add({ name: "important", priority: 5 }, { processes: 490 });
  expect(await node.sync()).toBe("many/0");
  expect(node.manager.conditions).toEqual(["PIDPressure"]);
});

describe("limits of local storage", () => {
  const limited = (name: string) => ({ name, volumes: [{ name: "cache", emptyDir: { sizeLimit: "1Mi" } }] });

  test("every pod above its limits goes in one round, though nothing is short", async () => {
    const node = new Node({});
    for (const name of ["a", "b"]) node.add(limited(name), { volumes: { cache: "2Mi" } });
    node.add(limited("c"), { volumes: { cache: "1Mi" } });
    expect(await node.sync()).toBe("a/0 b/0");
    expect(node.told).toEqual(
      ["a", "b"].map((name) => `${name}: Warning Evicted Usage of EmptyDir volume "cache" exceeds the limit "1Mi". `),
    );
    expect(node.manager.conditions).toEqual([]);
  });

  test("without thresholds and limits nothing is measured", async () => {
    const node = new Node({ isolatesLocalStorage: false });
    node.isMeasured = () => {
      throw new Error("asked");
    };
    expect(await node.sync()).toBe("");
    expect(node.facts).toEqual([]);
  });

  test("pods are not held to them if the configuration says so", async () => {
    const node = new Node({ isolatesLocalStorage: false });
    node.add(limited("a"), { volumes: { cache: "2Mi" } });
    expect(await node.sync()).toBe("");
  });

  test("a critical pod stays; the round then goes on to the node's thresholds", async () => {
    const node = new Node(HARD);
    node.memory = "1Mi";
    node.add({ ...limited("static"), source: "file" }, { volumes: { cache: "2Mi" } });
    node.add({ name: "other" });
    expect(await node.sync()).toBe("other/0");
  });

  test("it is no disruption: no DisruptionTarget in later releases", async () => {
    const node = new Node({ kubeVersion: "1.30" });
    node.add(limited("a"), { volumes: { cache: "2Mi" } });
    await node.sync();
    expect(node.statuses[0]?.conditions).toEqual([]);
  });
});

describe("statistics", () => {
  test("a runtime without statistics: nothing is evicted, the failure is told once, and the loop goes on", async () => {
    const node = new Node(HARD);
    node.memory = "1Mi";
    node.add({ name: "a" });
    let isMeasured = false;
    node.isMeasured = () => isMeasured;
    const stop = new AbortController();
    const done = node.manager.run(stop.signal);
    await node.clock.advance(25_000);
    expect(node.killed).toEqual([]);
    const failures = only(node.facts, "error").filter(({ level }) => level <= 2);
    expect(failures.map(({ message }) => message)).toEqual([
      "Eviction manager: failed to get summary stats: rpc error: code = Unimplemented",
    ]);
    isMeasured = true;
    await node.clock.advance(10_000);
    expect(node.killed).toEqual(["a/0"]);
    stop.abort();
    await expect(done).rejects.toThrow();
    expect(node.clock.sleeping).toBe(0);
  });

  test("statistics that go backwards are no news: no second pod goes until they are newer", async () => {
    const node = new Node(HARD);
    node.memory = "1Mi";
    for (const name of ["a", "b"]) node.add({ name });
    let timeMs = START_MS;
    node.statsMs = () => timeMs;
    expect(await node.sync()).toBe("a/0");
    timeMs -= 60_000;
    expect(await node.sync()).toBe("");
    timeMs += 1;
    expect(await node.sync()).toBe("b/0"); // newer than those seen last, as upstream
    expect(node.manager.conditions).toEqual(["MemoryPressure"]);
  });
});

describe("the loop", () => {
  test("200 pods go one after the other, each cleaned up before the next", async () => {
    const node = new Node(HARD);
    node.memory = "1Mi";
    for (let i = 0; i < 200; i++) node.add({ name: `pod-${i}` }, { memory: `${i + 1}Mi` });
    const stop = new AbortController();
    const done = node.manager.run(stop.signal);
    await node.clock.advance(0);
    expect(node.killed).toEqual(["pod-199/0"]);
    await node.clock.advance(199_000);
    expect(node.killed).toHaveLength(200);
    expect(node.killed.at(-1)).toBe("pod-0/0");
    const [, , ranked] = only(node.facts, "decision");
    expect(ranked?.why).toContain("10. default/pod-190 uses 191Mi, requests 0, priority 0; and 190 more");
    stop.abort();
    await expect(done).rejects.toThrow();
    expect(node.clock.sleeping).toBe(0);
  });

  test("a pod that is not cleaned up holds the loop up for 30 s at most", async () => {
    const node = new Node(HARD);
    node.memory = "1Mi";
    for (const name of ["a", "b"]) node.add({ name });
    node.isCleanedUp = false;
    const stop = new AbortController();
    const done = node.manager.run(stop.signal);
    await node.clock.advance(29_999);
    expect(node.killed).toEqual(["a/0"]);
    await node.clock.advance(1);
    expect(node.killed).toEqual(["a/0", "b/0"]);
    expect(only(node.facts, "error").map(({ message }) => message)).toEqual([
      "Eviction manager: timed out waiting for pods to be cleaned up: default/a",
    ]);
    stop.abort();
    await expect(done).rejects.toThrow();
  });

  test("it decides in the round that sees the statistics: at most ten seconds after they cross the threshold", async () => {
    const node = new Node(HARD);
    node.add({ name: "a" });
    const stop = new AbortController();
    const done = node.manager.run(stop.signal);
    await node.clock.advance(5_000);
    node.memory = "1Mi";
    await node.clock.advance(5_000);
    expect(node.killed).toEqual(["a/0"]);
    stop.abort();
    await expect(done).rejects.toThrow();
  });
});

describe("metrics", () => {
  test("an eviction is counted under its signal, with the age of the statistics that led to it", async () => {
    const node = new Node(HARD);
    node.memory = "1Mi";
    node.statsMs = () => node.clock.now() - 2_500;
    node.add({ name: "static", source: "file" }, { memory: "7Gi" });
    node.add({ name: "leaky" }, { memory: "3Gi" });
    await node.sync();
    expect(await node.metrics.series("kubelet_evictions")).toEqual(["eviction_signal=memory.available 1"]);
    expect(await node.metrics.series("kubelet_eviction_stats_age_seconds")).toEqual([
      "eviction_signal=memory.available count 1",
      "eviction_signal=memory.available sum 2.5",
    ]);
  });

  test("a pod that exceeds a limit of its own is counted under that limit", async () => {
    const node = new Node(HARD);
    const cache = [{ name: "cache", emptyDir: { sizeLimit: "1Mi" } }];
    node.add({ name: "a", volumes: cache }, { volumes: { cache: "2Mi" } });
    node.add({ name: "b", limits: { "ephemeral-storage": "1Mi" } }, { logs: "2Mi" });
    await node.sync();
    expect(await node.metrics.series("kubelet_evictions")).toEqual([
      "eviction_signal=emptydirfs.limit 1",
      "eviction_signal=ephemeralpodfs.limit 1",
    ]);
    expect(await node.metrics.series("kubelet_eviction_stats_age_seconds")).toEqual([]);
  });
});
