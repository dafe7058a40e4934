import assert from "node:assert/strict";
import { describe, test } from "vitest";
import {
  decodeBatch,
  type MetricsBatch,
  type MetricsPoint,
} from "../../../../src/cluster/control-plane/metrics-server/decode.js";
import { MetricsStorage } from "../../../../src/cluster/control-plane/metrics-server/storage.js";

const point = (timestampMs: number, cpu: number, memoryBytes = 1024 * 1024, startTimeMs = 0): MetricsPoint => {
  return { startTimeMs, timestampMs, cumulativeCpuUsed: cpu, memoryBytes };
};
const node = (one: MetricsPoint): MetricsBatch => ({ nodes: new Map([["n", one]]), pods: new Map() });
const pod = (containers: Readonly<Record<string, MetricsPoint>>): MetricsBatch => {
  return { nodes: new Map(), pods: new Map([["default/web", new Map(Object.entries(containers))]]) };
};
const NONE: MetricsBatch = { nodes: new Map(), pods: new Map() };

function stored(...batches: readonly MetricsBatch[]): MetricsStorage {
  const storage = new MetricsStorage(15_000);
  for (const batch of batches) storage.store(batch);
  return storage;
}

describe("the usage of a node, from its last two readings", () => {
  const table: readonly [rule: string, batches: readonly MetricsBatch[], want: string][] = [
    ["one reading", [node(point(1_000, 5))], "unknown"],
    ["two readings", [node(point(1_000, 0)), node(point(16_000, 3_000_000_000))], "200m 1Mi in 15000 ms at 16000"],
    [
      "rates are in nano cores, memory in the largest binary unit that fits",
      [node(point(0, 0)), node(point(15_000, 1_234_567, 1_234_944))],
      "82304n 1206Ki in 15000 ms at 15000",
    ],
    [
      "memory that is no multiple",
      [node(point(0, 0)), node(point(1_000, 1, 1_000_001))],
      "1n 1000001 in 1000 ms at 1000",
    ],
    [
      "the same reading again keeps the one before",
      [node(point(0, 0)), node(point(1_000, 1_000_000)), node(point(1_000, 1_000_000))],
      "1m 1Mi in 1000 ms at 1000",
    ],
    ["a sum that goes backwards", [node(point(0, 9)), node(point(1_000, 1))], "unknown"],
    ["a node that did not answer once", [node(point(0, 0)), NONE, node(point(2_000, 1))], "unknown"],
  ];
  for (const [rule, batches, want] of table) {
    test(`${rule}: ${want}`, () => {
      const usage = stored(...batches).node("n");
      const seen =
        usage === undefined
          ? "unknown"
          : `${usage.usage.cpu} ${usage.usage.memory} in ${usage.windowMs} ms at ${usage.timestampMs}`;
      assert.equal(seen, want);
    });
  }
});

describe("the usage of a pod", () => {
  const S = 1_000_000_000;
  const table: readonly [rule: string, batches: readonly MetricsBatch[], want: string][] = [
    ["one reading of a container that is 9.999 s old", [pod({ a: point(9_999, S) })], "unknown"],
    ["... 10 s old: it had used nothing when it started", [pod({ a: point(10_000, S) })], "a 100m in 10000 ms"],
    ["... 15 s old", [pod({ a: point(15_000, S) })], "unknown"],
    ["two readings", [pod({ a: point(20_000, S) }), pod({ a: point(35_000, 4 * S) })], "a 200m in 15000 ms"],
    [
      "a container that restarted between them",
      [pod({ a: point(20_000, S) }), pod({ a: point(35_000, S, 1024, 30_000) })],
      "unknown",
    ],
    [
      "a second container without a reading before",
      [pod({ a: point(20_000, S) }), pod({ a: point(35_000, 4 * S), b: point(35_000, S, 1024, 33_000) })],
      "unknown",
    ],
    [
      "the window is that of the earliest container",
      [pod({ a: point(20_000, S), b: point(21_000, S) }), pod({ a: point(35_000, 4 * S), b: point(41_000, 3 * S) })],
      "a 200m, b 100m in 15000 ms",
    ],
    ["a pod that is gone", [pod({ a: point(20_000, S) }), pod({ a: point(35_000, 4 * S) }), NONE], "unknown"],
  ];
  for (const [rule, batches, want] of table) {
    test(`${rule}: ${want}`, () => {
      const usage = stored(...batches).pod("default/web");
      const seen =
        usage === undefined
          ? "unknown"
          : `${usage.usage.map((one) => `${one.name} ${one.usage.cpu}`).join(", ")} in ${usage.windowMs} ms`;
      assert.equal(seen, want);
    });
  }
});

describe("reading a kubelet's /metrics/resource", () => {
  const GOOD = `# HELP container_cpu_usage_seconds_total text
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="c",namespace="default",pod="web"} 4.5 1633253812125
container_memory_working_set_bytes{container="c",namespace="default",pod="web"} 1.253376e+06 1633253812125
container_start_time_seconds{container="c",namespace="default",pod="web"} 1.63325380112e+09 1633253801120
node_cpu_usage_seconds_total 357.35491 1633253809720
node_memory_working_set_bytes 1.616273408e+09
pod_cpu_usage_seconds_total{namespace="default",pod="web"} 5 1
scrape_error 0
`;

  test("nodes and containers, with their times", () => {
    const { nodes, pods } = decodeBatch(GOOD, 77, "n");
    assert.deepEqual(nodes.get("n"), {
      startTimeMs: 0,
      // Memory has no time of its own.
      timestampMs: 77,
      cumulativeCpuUsed: 357_354_910_000,
      memoryBytes: 1_616_273_408,
    });
    assert.deepEqual(pods.get("default/web")?.get("c"), {
      startTimeMs: 1_633_253_801_120,
      timestampMs: 1_633_253_812_125,
      cumulativeCpuUsed: 4_500_000_000,
      memoryBytes: 1_253_376,
    });
  });

  const incomplete: readonly [what: string, change: (text: string) => string, want: string][] = [
    ["a node without CPU", (text) => text.replace(/^node_cpu.*\n/m, ""), "0 nodes, 1 pods"],
    ["a node without memory", (text) => text.replace(/^node_memory.*\n/m, ""), "0 nodes, 1 pods"],
    ["a container that used no CPU", (text) => text.replace("} 4.5 ", "} 0 "), "1 nodes, 0 pods"],
    ["a container without memory", (text) => text.replace(/^container_memory.*\n/m, ""), "1 nodes, 0 pods"],
    ["nothing", () => "", "0 nodes, 0 pods"],
  ];
  for (const [what, change, want] of incomplete) {
    test(`${what}: ${want}`, () => {
      const { nodes, pods } = decodeBatch(change(GOOD), 77, "n");
      assert.equal(`${nodes.size} nodes, ${pods.size} pods`, want);
    });
  }

  test("a line that is no sample is an error", () => {
    assert.throws(() => decodeBatch("<html>\n", 0, "n"), { message: 'failed parsing metrics: "<html>"' });
    assert.throws(() => decodeBatch("node_memory_working_set_bytes x\n", 0, "n"));
  });
});
