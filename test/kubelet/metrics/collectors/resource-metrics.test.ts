import assert from "node:assert/strict";
import { test } from "vitest";
import type { Summary } from "../../../../src/kubelet/apis/stats/v1alpha1.js";
import { resourceMetrics } from "../../../../src/kubelet/metrics/collectors/resource-metrics.js";

const SUMMARY: Summary = {
  node: {
    nodeName: "n1",
    cpu: { timeMs: 2_000, usageCoreNanoSeconds: 12_500_000_000 },
    memory: { timeMs: 2_001, workingSetBytes: 123_456_789 },
  },
  pods: [
    {
      podRef: { name: "web", namespace: "default", uid: "u" },
      startTimeMs: 500,
      cpu: { timeMs: 2_002.7, usageCoreNanoSeconds: 20_000_000 },
      memory: { timeMs: 2_003, workingSetBytes: 524_288 },
      containers: [
        {
          name: "b",
          startTimeMs: 1_795_441_832_386,
          cpu: { timeMs: 2_002, usageCoreNanoSeconds: 20_000_000 },
          memory: { timeMs: 2_003, workingSetBytes: 524_288 },
        },
        { name: "a", startTimeMs: 1_500 },
      ],
    },
  ],
};

/** Name, labels, value and time as Prometheus writes them. */
const LINES = [
  'container_cpu_usage_seconds_total{container="b",namespace="default",pod="web"} 0.02 2002',
  'container_memory_working_set_bytes{container="b",namespace="default",pod="web"} 524288 2003',
  'container_start_time_seconds{container="a",namespace="default",pod="web"} 1.5 1500',
  'container_start_time_seconds{container="b",namespace="default",pod="web"} 1.795441832386e+09 1795441832386',
  "node_cpu_usage_seconds_total 12.5 2000",
  "node_memory_working_set_bytes 1.23456789e+08 2001",
  'pod_cpu_usage_seconds_total{namespace="default",pod="web"} 0.02 2002',
  'pod_memory_working_set_bytes{namespace="default",pod="web"} 524288 2003',
  "scrape_error 0",
];

function samples(text: string): string[] {
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

test("/metrics/resource has the names of 1.25, sorted, with times; unknown figures are left out", () => {
  assert.deepEqual(samples(resourceMetrics(SUMMARY)), LINES);
});

test("each family has a help text with its stability, and a type", () => {
  const text = resourceMetrics(SUMMARY);
  assert.ok(
    text.startsWith(
      "# HELP container_cpu_usage_seconds_total [ALPHA] Cumulative cpu time consumed by the container in core-seconds\n" +
        "# TYPE container_cpu_usage_seconds_total counter\n",
    ),
  );
  const families = text.split("\n").filter((line) => line.startsWith("# TYPE "));
  assert.equal(families.length, 8);
});

test("without a summary only the error is reported", () => {
  assert.deepEqual(samples(resourceMetrics(undefined)), ["scrape_error 1"]);
});
