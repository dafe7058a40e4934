import { describe, expect, test } from "vitest";
import { admitUnderPressure } from "../../../src/kubelet/eviction/admit.js";
import { localStorageProblem } from "../../../src/kubelet/eviction/local-storage.js";
import { evictionMessage } from "../../../src/kubelet/eviction/message.js";
import type {
  PressureCondition,
  Signal,
  StarvedResource,
  ThresholdValue,
} from "../../../src/kubelet/eviction/threshold.js";
import { makePod } from "../podworkers/pods.js";
import { type EvictionPod, podOf, statsOf, type Used } from "./pods.js";

const GONE = undefined;

describe("message", () => {
  const table: readonly (readonly [StarvedResource, requests: Record<string, string>, Used | undefined, string])[] = [
    ["memory", {}, GONE, ""],
    ["memory", {}, { memory: "256Mi" }, "Container app was using 256Mi, which exceeds its request of 0. "],
    [
      "memory",
      { memory: "0.1Gi" },
      { memory: "1Gi" },
      "Container app was using 1Gi, which exceeds its request of 0.1Gi. ",
    ],
    ["memory", { memory: "1Gi" }, { memory: "1Gi" }, ""],
    ["memory", { memory: "1Gi" }, {}, ""],
    [
      "ephemeral-storage",
      {},
      { rootfs: "10Ki", logs: "2Ki" },
      "Container app was using 12Ki, which exceeds its request of 0. ",
    ],
    ["ephemeral-storage", {}, { rootfs: "10Ki" }, ""],
    ["inodes", {}, { inodes: 1_000 }, ""],
    ["pids", {}, { processes: 1_000 }, ""],
  ];
  for (const [resource, requests, used, want] of table) {
    test(`${resource}, requests ${JSON.stringify(requests)}, used ${JSON.stringify(used)}: ${want || "no container"}`, () => {
      const pod = podOf({ name: "a", requests });
      const threshold = { signal: "memory.available", value: { quantity: "100Mi" }, gracePeriodMs: 0 } as const;
      const met = { threshold, observations: new Map() };
      const { message, annotations } = evictionMessage(resource, pod, used && statsOf(pod, used), met, "1.25");
      expect(message).toBe(`The node was low on resource: ${resource}. ${want}`);
      if (used === undefined) expect(annotations).toEqual({});
      else expect(annotations).toMatchObject({ starved_resource: resource, offending_containers: want && "app" });
    });
  }

  const newer: readonly (readonly [Signal, ThresholdValue, available: number, capacity: number, string])[] = [
    ["memory.available", { quantity: "100Mi" }, 50 * 2 ** 20, 2 ** 30, "Threshold quantity: 100Mi, available: 50Mi. "],
    [
      "nodefs.available",
      { percentage: Math.fround(0.1) },
      1_883_424 * 1_024,
      21_462_233_088,
      "Threshold quantity: 2146223340, available: 1883424Ki. ",
    ],
    ["pid.available", { quantity: "50" }, 7, 100, "Threshold quantity: 50, available: 7. "],
  ];
  for (const [signal, value, available, capacity, want] of newer) {
    test(`since v1.26 with the threshold of ${signal}`, () => {
      const pod = podOf({ name: "a" });
      const observations = new Map([[signal, { available, capacity }]]);
      const met = { threshold: { signal, value, gracePeriodMs: 0 }, observations };
      expect(evictionMessage("memory", pod, statsOf(pod, { memory: "1Gi" }), met, "1.26").message).toBe(
        `The node was low on resource: memory. ${want}Container app was using 1Gi, request is 0, has larger consumption of memory. `,
      );
    });
  }

  test("annotations list the containers that exceed their requests", () => {
    const pod = podOf({ name: "a" });
    const stats = statsOf(pod, { memory: "1Gi" });
    const [app] = stats.containers;
    const other = { name: "other", startTimeMs: 0, memory: { timeMs: 0, workingSetBytes: 5 } };
    const two = makePod("a", { spec: { containers: ["app", "other"].map((name) => ({ name, image: "i" })) } });
    const threshold = { signal: "memory.available", value: { quantity: "1" }, gracePeriodMs: 0 } as const;
    const containers = app === undefined ? [] : [app, other, { ...other, name: "gone" }];
    const met = { threshold, observations: new Map() };
    expect(evictionMessage("memory", two, { ...stats, containers }, met, "1.25").annotations).toEqual({
      offending_containers: "app,other",
      offending_containers_usage: "1Gi,5",
      starved_resource: "memory",
    });
  });
});

describe("local storage", () => {
  const limit = (sizeLimit: string) => [{ name: "cache", emptyDir: { sizeLimit } }];
  const table: readonly (readonly [Omit<EvictionPod, "name">, Used, dedicated: boolean, string | undefined])[] = [
    [{}, { rootfs: "9Gi", logs: "9Gi" }, false, undefined],
    [{ volumes: limit("1Mi") }, { volumes: { cache: "1Mi" } }, false, undefined],
    [
      { volumes: limit("1Mi") },
      { volumes: { cache: "1025Ki" } },
      false,
      'Usage of EmptyDir volume "cache" exceeds the limit "1Mi". ',
    ],
    [
      { volumes: limit("1024Ki") },
      { volumes: { cache: "1Gi" } },
      false,
      'Usage of EmptyDir volume "cache" exceeds the limit "1Mi". ',
    ],
    [{ volumes: limit("0") }, { volumes: { cache: "1Gi" } }, false, undefined],
    [{ volumes: limit("1Mi") }, {}, false, undefined],
    [
      { limits: { "ephemeral-storage": "10Mi" } },
      { rootfs: "6Mi", logs: "5Mi" },
      false,
      "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ",
    ],
    [{ limits: { "ephemeral-storage": "10Mi" } }, { rootfs: "6Mi", logs: "4Mi" }, false, undefined],
    // On another disk, the writable layer does not count.
    [{ limits: { "ephemeral-storage": "10Mi" } }, { rootfs: "60Mi", logs: "4Mi" }, true, undefined],
    [
      { limits: { "ephemeral-storage": "10Mi" }, volumes: [{ name: "cache", emptyDir: {} }] },
      { volumes: { cache: "11Mi" } },
      false,
      "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ",
    ],
    [{ limits: { memory: "1Mi" } }, { rootfs: "60Mi" }, false, undefined],
  ];
  for (const [pod, used, dedicated, want] of table) {
    test(`${JSON.stringify(pod)} uses ${JSON.stringify(used)}: ${want ?? "stays"}`, () => {
      const made = podOf({ name: "a", ...pod });
      expect(localStorageProblem(made, statsOf(made, used), dedicated)?.message).toBe(want);
    });
  }

  test("of two containers one exceeds its own limit, and the pod does not", () => {
    const limits = { "ephemeral-storage": "10Mi" };
    const containers = ["app", "other"].map((name) => ({ name, image: "i", resources: { limits } }));
    const pod = makePod("a", { spec: { containers } });
    const stats = statsOf(pod, { rootfs: "11Mi" });
    expect(localStorageProblem(pod, stats, false)?.message).toBe(
      'Container app exceeded its local ephemeral storage limit "10Mi". ',
    );
    const ephemeralStorage = { timeMs: 0, usedBytes: 21 * 2 ** 20 };
    expect(localStorageProblem(pod, { ...stats, ephemeralStorage }, false)?.message).toBe(
      "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ",
    );
  });

  test("the largest init container counts if it is above the sum of the others", () => {
    const of = (name: string, size: string) => ({
      name,
      image: "i",
      resources: { limits: { "ephemeral-storage": size } },
    });
    const pod = makePod("a", { spec: { containers: [of("app", "1Mi")], initContainers: [of("init", "20Mi")] } });
    const ephemeralStorage = { timeMs: 0, usedBytes: 21 * 2 ** 20 };
    expect(localStorageProblem(pod, { ...statsOf(pod, {}), ephemeralStorage }, false)?.message).toContain("20Mi");
  });
});

describe("admission", () => {
  const tolerate = (key: string) => ({
    tolerations: [{ key, operator: "Exists" as const, effect: "NoSchedule" as const }],
  });
  const MEMORY = "node.kubernetes.io/memory-pressure";
  const all: PressureCondition[] = ["MemoryPressure", "DiskPressure", "PIDPressure"];
  const table: readonly (readonly [what: string, pod: object, PressureCondition[], isAdmitted: boolean])[] = [
    ["best effort", {}, [], true],
    ["best effort", {}, ["MemoryPressure"], false],
    ["best effort that tolerates memory pressure", tolerate(MEMORY), ["MemoryPressure"], true],
    [
      "best effort that tolerates disk pressure",
      tolerate("node.kubernetes.io/disk-pressure"),
      ["MemoryPressure"],
      false,
    ],
    ["best effort that tolerates everything", { tolerations: [{ operator: "Exists" }] }, ["MemoryPressure"], true],
    ["best effort", {}, ["DiskPressure"], false],
    ["best effort that tolerates memory pressure", tolerate(MEMORY), ["DiskPressure"], false],
    ["best effort that tolerates memory pressure", tolerate(MEMORY), ["MemoryPressure", "DiskPressure"], false],
    ["burstable", { requests: true }, ["MemoryPressure"], true],
    ["burstable", { requests: true }, ["DiskPressure"], false],
    ["burstable", { requests: true }, ["PIDPressure"], false],
    ["burstable", { requests: true }, ["MemoryPressure", "PIDPressure"], false],
    ["of a system priority", { priority: 2_000_000_000 }, all, true],
    ["almost of a system priority", { priority: 1_999_999_999 }, ["DiskPressure"], false],
    ["static", { source: "file" }, all, true],
  ];
  for (const [what, { requests, source, ...spec }, conditions, isAdmitted] of table as readonly (readonly [
    string,
    { requests?: boolean; source?: string },
    PressureCondition[],
    boolean,
  ])[]) {
    test(`${what}, node has ${conditions.join(", ") || "no pressure"}: ${isAdmitted ? "admitted" : "refused"}`, () => {
      const resources = requests === true ? { resources: { requests: { memory: "1Mi" } } } : {};
      const containers = [{ name: "app", image: "i", ...resources }];
      const pod = makePod("a", { ...(source === undefined ? {} : { source }), spec: { ...spec, containers } });
      const refusal = {
        admit: false,
        reason: "Evicted",
        message: `The node had condition: [${conditions.join(" ")}]. `,
      };
      expect(admitUnderPressure(conditions, pod)).toEqual(isAdmitted ? { admit: true } : refusal);
    });
  }
});
