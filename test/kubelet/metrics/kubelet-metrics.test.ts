import { describe, expect, test } from "vitest";
import { FAMILIES, type Family } from "../../../src/kubelet/metrics/families.js";
import { KubeletMetrics } from "../../../src/kubelet/metrics/kubelet-metrics.js";
import { parseMetrics, sampleOf } from "../../support/prometheus.js";

const DEF = "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10";
const RUNTIME =
  "0.005 0.0125 0.03125 0.078125 0.1953125 0.48828125 1.220703125 3.0517578125 7.62939453125 19.073486328125 " +
  "47.6837158203125 119.20928955078125 298.0232238769531 745.0580596923828";
const HTTP = "long_running method path server_type";

/** As in v1.25: name, type, labels, buckets. */
const UPSTREAM = [
  ["kubelet_http_inflight_requests", "gauge", HTTP, ""],
  ["kubelet_http_requests_duration_seconds", "histogram", HTTP, DEF],
  ["kubelet_http_requests_total", "counter", HTTP, ""],
  ["kubelet_node_name", "gauge", "node", ""],
  ["kubelet_pleg_discard_events", "counter", "", ""],
  ["kubelet_pleg_last_seen_seconds", "gauge", "", ""],
  ["kubelet_pleg_relist_duration_seconds", "histogram", "", DEF],
  ["kubelet_pleg_relist_interval_seconds", "histogram", "", DEF],
  ["kubelet_pod_start_duration_seconds", "histogram", "", DEF],
  ["kubelet_pod_worker_duration_seconds", "histogram", "operation_type", DEF],
  ["kubelet_pod_worker_start_duration_seconds", "histogram", "", DEF],
  ["kubelet_running_containers", "gauge", "container_state", ""],
  ["kubelet_running_pods", "gauge", "", ""],
  ["kubelet_runtime_operations_duration_seconds", "histogram", "operation_type", RUNTIME],
  ["kubelet_runtime_operations_errors_total", "counter", "operation_type", ""],
  ["kubelet_runtime_operations_total", "counter", "operation_type", ""],
  ["process_start_time_seconds", "gauge", "", ""],
] as const;

describe("the families are upstream's", () => {
  test("and in the order of their names", () => {
    expect(Object.keys(FAMILIES)).toEqual(UPSTREAM.map(([name]) => name));
    expect(Object.keys(FAMILIES)).toEqual(Object.keys(FAMILIES).sort());
  });

  for (const [name, type, labels, buckets] of UPSTREAM) {
    test(name, async () => {
      const family: Family = FAMILIES[name];
      expect([family.type, (family.labels ?? []).join(" ")]).toEqual([type, labels]);
      const values = Object.fromEntries((family.labels ?? []).map((label) => [label, `a "${label}"`]));
      const metrics = new KubeletMetrics({ nodeName: "n1", startMs: 0 });
      if (family.type === "histogram") metrics.observe(name as "kubelet_pleg_relist_duration_seconds", 30, values);
      else metrics.add(name as "kubelet_running_pods", values);
      const parsed = parseMetrics(await metrics.text()).get(name);
      expect([parsed?.type, parsed?.help]).toEqual([type, `[ALPHA] ${family.help}`]);
      const bounds = parsed?.samples.flatMap((one) => (one.labels["le"] === undefined ? [] : [one.labels["le"]]));
      expect(bounds?.join(" ")).toBe(buckets === "" ? "" : `${buckets} +Inf`);
      expect(parsed?.samples.at(-1)?.labels).toEqual(values);
    });
  }
});

test("a family without a series is left out, one without labels begins with 0", async () => {
  const families = parseMetrics(await new KubeletMetrics({ nodeName: "n1", startMs: 1_500 }).text());
  expect(families.has("kubelet_http_requests_total")).toBe(false);
  expect(sampleOf(families, "kubelet_pleg_discard_events")).toBe(0);
  expect(sampleOf(families, "kubelet_pleg_relist_duration_seconds_count")).toBe(0);
  expect(sampleOf(families, "kubelet_node_name", { node: "n1" })).toBe(1);
  expect(sampleOf(families, "process_start_time_seconds")).toBe(1.5);
});

test("nothing is lost before the first reader, however much there is, nor after it", async () => {
  const metrics = new KubeletMetrics({ nodeName: "n1", startMs: 0 });
  for (let i = 0; i < 2500; i++) {
    metrics.add("kubelet_pleg_discard_events");
    metrics.set("kubelet_running_pods", i);
    metrics.observe("kubelet_pleg_relist_duration_seconds", 30);
  }
  await metrics.text();
  metrics.add("kubelet_pleg_discard_events", {}, 7);
  const families = parseMetrics(await metrics.text());
  expect(sampleOf(families, "kubelet_pleg_discard_events")).toBe(2507);
  expect(sampleOf(families, "kubelet_running_pods")).toBe(2499);
  expect(sampleOf(families, "kubelet_pleg_relist_duration_seconds_bucket", { le: "0.025" })).toBe(0);
  expect(sampleOf(families, "kubelet_pleg_relist_duration_seconds_bucket", { le: "0.05" })).toBe(2500);
});

test("kubelets of one process count apart", async () => {
  const [one, other] = ["n1", "n2"].map((nodeName) => new KubeletMetrics({ nodeName, startMs: 0 }));
  one?.add("kubelet_pleg_discard_events");
  expect(sampleOf(parseMetrics((await one?.text()) ?? ""), "kubelet_pleg_discard_events")).toBe(1);
  const families = parseMetrics((await other?.text()) ?? "");
  expect(sampleOf(families, "kubelet_pleg_discard_events")).toBe(0);
  expect(families.get("kubelet_node_name")?.samples.map(({ labels }) => labels)).toEqual([{ node: "n2" }]);
});
