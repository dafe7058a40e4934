import { describe, expect, test } from "vitest";
import { rankPods, rankText } from "../../../src/kubelet/eviction/ranking.js";
import type { Signal } from "../../../src/kubelet/eviction/threshold.js";
import { podOf, statsOf, type Used } from "./pods.js";

type Row = readonly [name: string, priority: number, request: string, used: Used | undefined];

const emptyDir = [{ name: "data", emptyDir: {} }];

function rank(signal: Signal, rows: readonly Row[], hasDedicatedImageFs = false) {
  const resource = signal.includes("emory") ? "memory" : "ephemeral-storage";
  const made = rows.map(([name, priority, request, used]) => {
    const pod = podOf({ name, priority, requests: { [resource]: request }, volumes: emptyDir });
    return { pod, stats: used && statsOf(pod, used) };
  });
  const pods = made.map(({ pod }) => pod);
  return rankPods(signal, hasDedicatedImageFs, pods, (pod) => made.find((one) => one.pod === pod)?.stats);
}

const order = (ranked: ReturnType<typeof rank>) => ranked.map(({ pod }) => pod.metadata.name).join(" ");

const tables: readonly (readonly [what: string, Signal, readonly Row[], want: string])[] = [
  [
    "memory: above the request first, then priority, then by how much",
    "memory.available",
    [
      ["below-high", 10, "900Mi", { memory: "300Mi" }],
      ["below-low", 1, "400Mi", { memory: "300Mi" }],
      ["above-high-large", 10, "100Mi", { memory: "900Mi" }],
      ["above-high-small", 10, "400Mi", { memory: "900Mi" }],
      ["above-low-large", 1, "100Mi", { memory: "900Mi" }],
      ["above-low-small", 1, "100Mi", { memory: "150Mi" }],
    ],
    "above-low-large above-low-small above-high-large above-high-small below-low below-high",
  ],
  [
    "memory: priority is before the amount",
    "memory.available",
    [
      ["high", 1_000, "0", { memory: "8Gi" }],
      ["low", 0, "0", { memory: "1Mi" }],
    ],
    "low high",
  ],
  [
    "memory: exceeding the request is before priority",
    "memory.available",
    [
      ["low-within", 0, "1Gi", { memory: "1Gi" }],
      ["high-above", 1_000, "1Gi", { memory: "1025Mi" }],
    ],
    "high-above low-within",
  ],
  [
    "memory: below the request, those come first that leave least of it unused",
    "memory.available",
    [
      ["idle", 0, "1Gi", { memory: "1Mi" }],
      ["nearly", 0, "1Gi", { memory: "1000Mi" }],
    ],
    "nearly idle",
  ],
  [
    "memory: pods without statistics come first, by priority",
    "memory.available",
    [
      ["large", 0, "0", { memory: "8Gi" }],
      ["unknown-high", 5, "0", undefined],
      ["unknown-low", 1, "0", undefined],
    ],
    "unknown-low unknown-high large",
  ],
  [
    "allocatable memory: as memory",
    "allocatableMemory.available",
    [
      ["small", 0, "0", { memory: "1Mi" }],
      ["large", 0, "0", { memory: "2Mi" }],
    ],
    "large small",
  ],
  [
    "statistics without a figure count as nothing used",
    "memory.available",
    [
      ["empty", 0, "0", {}],
      ["some", 0, "0", { memory: "1Mi" }],
    ],
    "some empty",
  ],
  [
    "processes: priority, then number; requests do not count",
    "pid.available",
    [
      ["high", 10, "0", { processes: 5_000 }],
      ["low-few", 1, "0", { processes: 10 }],
      ["low-many", 1, "0", { processes: 20 }],
      ["low-unknown", 1, "0", undefined],
    ],
    "low-unknown low-many low-few high",
  ],
  [
    "disk: layers, logs and volumes together",
    "nodefs.available",
    [
      ["layer", 0, "0", { rootfs: "3Mi" }],
      ["log", 0, "0", { logs: "5Mi" }],
      ["volume", 0, "0", { volumes: { data: "4Mi" } }],
      ["all", 0, "0", { rootfs: "2Mi", logs: "2Mi", volumes: { data: "2Mi" } }],
    ],
    "all log volume layer",
  ],
  [
    "disk: above the request first, then priority",
    "imagefs.available",
    [
      ["within", 0, "1Gi", { rootfs: "900Mi" }],
      ["above-high", 10, "100Mi", { rootfs: "101Mi" }],
      ["above-low", 5, "100Mi", { rootfs: "101Mi" }],
    ],
    "above-low above-high within",
  ],
  [
    "inodes: their number, minus the requested bytes, as upstream",
    "nodefs.inodesFree",
    [
      ["few", 0, "0", { inodes: 10 }],
      ["many", 0, "0", { inodes: 100 }],
      ["many-with-request", 0, "95", { inodes: 100 }],
    ],
    "many few many-with-request",
  ],
];
for (const [what, signal, rows, want] of tables) {
  test(what, () => {
    expect(order(rank(signal, rows))).toBe(want);
    // Whatever the order in which the kubelet knows its pods.
    expect(order(rank(signal, [...rows].reverse()))).toBe(want);
  });
}

test("with a disk of its own for images, nodefs has logs and volumes, imagefs has layers", () => {
  const rows: Row[] = [
    ["layer", 0, "0", { rootfs: "5Mi" }],
    ["log", 0, "0", { logs: "3Mi" }],
    ["volume", 0, "0", { volumes: { data: "4Mi" } }],
  ];
  expect(order(rank("nodefs.available", rows, true))).toBe("volume log layer");
  expect(order(rank("imagefs.available", rows, true))).toBe("layer log volume");
  expect(rank("imagefs.available", rows, true).map(({ usage }) => usage)).toEqual([5 * 2 ** 20, 0, 0]);
});

describe("volumes on the node's disk", () => {
  const table = [
    [{ emptyDir: {} }, true],
    [{ emptyDir: { medium: "" } }, true],
    [{ emptyDir: { medium: "Memory" } }, false],
    [{ hostPath: { path: "/" } }, true],
    [{ configMap: { name: "c" } }, true],
    [{ secret: { secretName: "s" } }, false],
    [{ projected: {} }, false],
    [{ persistentVolumeClaim: { claimName: "c" } }, false],
  ] as const;
  for (const [source, counts] of table) {
    test(`${JSON.stringify(source)}: ${counts ? "counts" : "does not count"}`, () => {
      const pod = podOf({ name: "a", volumes: [{ name: "v", ...source }] });
      const [ranked] = rankPods("nodefs.available", false, [pod], () => statsOf(pod, { volumes: { v: "1Mi" } }));
      expect(ranked?.usage).toBe(counts ? 2 ** 20 : 0);
    });
  }
});

test("200 pods that are alike keep their order", () => {
  const rows = Array.from({ length: 200 }, (_, i): Row => [`pod-${i}`, 0, "0", { memory: "1Mi" }]);
  expect(order(rank("memory.available", rows))).toBe(rows.map(([name]) => name).join(" "));
});

test("a ranked pod is told with its numbers", () => {
  const [ranked] = rank("memory.available", [["web", 7, "100Mi", { memory: "1536Mi" }]]);
  expect(ranked && rankText(ranked, "memory")).toBe("default/web uses 1536Mi, requests 100Mi, priority 7");
  const [unknown] = rank("memory.available", [["new", 0, "0", undefined]]);
  expect(unknown && rankText(unknown, "memory")).toBe("default/new has no statistics, requests 0, priority 0");
  const [many] = rank("pid.available", [["fork", 0, "0", { processes: 2_000 }]]);
  expect(many && rankText(many, "pids")).toBe("default/fork uses 2k, priority 0");
});
