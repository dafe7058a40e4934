import { describe, expect, test } from "vitest";
import { collectProcess } from "../../../src/kubelet/metrics/collectors/process-metrics.js";
import { FAMILIES, type Family } from "../../../src/kubelet/metrics/families.js";
import { KubeletMetrics } from "../../../src/kubelet/metrics/kubelet-metrics.js";
import { parseMetrics, sampleOf } from "../../support/prometheus.js";

const DEF = "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10";
const RUNTIME =
  "0.005 0.0125 0.03125 0.078125 0.1953125 0.48828125 1.220703125 3.0517578125 7.62939453125 19.073486328125 " +
  "47.6837158203125 119.20928955078125 298.0232238769531 745.0580596923828";
const HTTP = "long_running method path server_type";
const BUILD = "build_date compiler git_commit git_tree_state git_version go_version major minor platform";
const CLIENT = "0.005 0.025 0.1 0.25 0.5 1 2 4 8 15 30 60";
const STORAGE = "0.1 0.25 0.5 1 2.5 5 10 15 25 50 120 300 600";
const ROTATION = "60 3600 14400 86400 604800 2592000 7776000 15552000 31104000 124416000";

/** As in v1.25: name, type, labels, buckets. */
const UPSTREAM = [
  ["kubelet_certificate_manager_client_expiration_renew_errors", "counter", "", ""],
  ["kubelet_certificate_manager_client_ttl_seconds", "gauge", "", ""],
  ["kubelet_certificate_manager_server_rotation_seconds", "histogram", "", ROTATION],
  ["kubelet_certificate_manager_server_ttl_seconds", "gauge", "", ""],
  ["kubelet_container_log_filesystem_used_bytes", "gauge", "container namespace pod uid", ""],
  ["kubelet_containers_per_pod_count", "histogram", "", "1 2 4 8 16"],
  ["kubelet_device_plugin_alloc_duration_seconds", "histogram", "resource_name", DEF],
  ["kubelet_device_plugin_registration_total", "counter", "resource_name", ""],
  ["kubelet_eviction_stats_age_seconds", "histogram", "eviction_signal", DEF],
  ["kubelet_evictions", "counter", "eviction_signal", ""],
  ["kubelet_graceful_shutdown_end_time_seconds", "gauge", "", ""],
  ["kubelet_graceful_shutdown_start_time_seconds", "gauge", "", ""],
  ["kubelet_http_inflight_requests", "gauge", HTTP, ""],
  ["kubelet_http_requests_duration_seconds", "histogram", HTTP, DEF],
  ["kubelet_http_requests_total", "counter", HTTP, ""],
  ["kubelet_managed_ephemeral_containers", "gauge", "", ""],
  ["kubelet_node_name", "gauge", "node", ""],
  ["kubelet_pleg_discard_events", "counter", "", ""],
  ["kubelet_pleg_last_seen_seconds", "gauge", "", ""],
  ["kubelet_pleg_relist_duration_seconds", "histogram", "", DEF],
  ["kubelet_pleg_relist_interval_seconds", "histogram", "", DEF],
  ["kubelet_pod_resources_endpoint_requests_get_allocatable", "counter", "server_api_version", ""],
  ["kubelet_pod_resources_endpoint_requests_list", "counter", "server_api_version", ""],
  ["kubelet_pod_resources_endpoint_requests_total", "counter", "server_api_version", ""],
  ["kubelet_pod_start_duration_seconds", "histogram", "", DEF],
  ["kubelet_pod_worker_duration_seconds", "histogram", "operation_type", DEF],
  ["kubelet_pod_worker_start_duration_seconds", "histogram", "", DEF],
  ["kubelet_preemptions", "counter", "preemption_signal", ""],
  ["kubelet_run_podsandbox_duration_seconds", "histogram", "runtime_handler", DEF],
  ["kubelet_run_podsandbox_errors_total", "counter", "runtime_handler", ""],
  ["kubelet_running_containers", "gauge", "container_state", ""],
  ["kubelet_running_pods", "gauge", "", ""],
  ["kubelet_runtime_operations_duration_seconds", "histogram", "operation_type", RUNTIME],
  ["kubelet_runtime_operations_errors_total", "counter", "operation_type", ""],
  ["kubelet_runtime_operations_total", "counter", "operation_type", ""],
  ["kubelet_server_expiration_renew_errors", "counter", "", ""],
  ["kubelet_started_containers_errors_total", "counter", "code container_type", ""],
  ["kubelet_started_containers_total", "counter", "container_type", ""],
  ["kubelet_started_pods_errors_total", "counter", "", ""],
  ["kubelet_started_pods_total", "counter", "", ""],
  ["kubernetes_build_info", "gauge", BUILD, ""],
  ["process_cpu_seconds_total", "counter", "", ""],
  ["process_max_fds", "gauge", "", ""],
  ["process_open_fds", "gauge", "", ""],
  ["process_resident_memory_bytes", "gauge", "", ""],
  ["process_start_time_seconds", "gauge", "", ""],
  ["process_virtual_memory_bytes", "gauge", "", ""],
  ["process_virtual_memory_max_bytes", "gauge", "", ""],
  ["rest_client_request_duration_seconds", "histogram", "host verb", CLIENT],
  ["rest_client_requests_total", "counter", "code host method", ""],
  ["storage_operation_duration_seconds", "histogram", "migrated operation_name status volume_plugin", STORAGE],
  ["volume_manager_total_volumes", "gauge", "plugin_name state", ""],
] as const;

/** Those of client_golang itself have no stability level. */
const isRaw = (name: string) => name.startsWith("process_");

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
      const metrics = new KubeletMetrics({ nodeName: "n1", startMs: 0, requestsServingCertificate: true });
      if (family.type === "histogram") metrics.observe(name as "kubelet_pleg_relist_duration_seconds", 30, values);
      else metrics.add(name as "kubelet_running_pods", values);
      const parsed = parseMetrics(await metrics.text()).get(name);
      expect([parsed?.type, parsed?.help]).toEqual([type, `${isRaw(name) ? "" : "[ALPHA] "}${family.help}`]);
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

test("a kubelet that signs its server's certificate itself has no metrics of its renewal", async () => {
  const names = async (requestsServingCertificate: boolean) => {
    const metrics = new KubeletMetrics({ nodeName: "n1", startMs: 0, requestsServingCertificate });
    return [...parseMetrics(await metrics.text()).keys()].filter((name) => name.includes("server"));
  };
  expect(await names(false)).toEqual([]);
  expect(await names(true)).toEqual([
    "kubelet_certificate_manager_server_rotation_seconds",
    "kubelet_certificate_manager_server_ttl_seconds",
    "kubelet_server_expiration_renew_errors",
  ]);
});

test("what is measured for a reader replaces what an earlier one read", async () => {
  const metrics = new KubeletMetrics({ nodeName: "n1", startMs: 0 });
  const read = async () => sampleOf(parseMetrics(await metrics.text()), "volume_manager_total_volumes", labels);
  const labels = { plugin_name: "kubernetes.io/secret", state: "actual_state_of_world" };
  let volumes = 2;
  metrics.collectWith(() => {
    const samples = Array.from({ length: volumes }, () => ({ labels, value: 1 }));
    metrics.replace("volume_manager_total_volumes", samples);
  });
  expect(await read()).toBe(2);
  expect(await read()).toBe(2);
  volumes = 0;
  expect(await read()).toBeUndefined();
});

test("what can no longer be measured has no series, not 0", async () => {
  const metrics = new KubeletMetrics({ nodeName: "n1", startMs: 0 });
  const read = async () => {
    const families = parseMetrics(await metrics.text());
    return ["process_cpu_seconds_total", "process_open_fds", "process_max_fds"].map((name) => sampleOf(families, name));
  };
  const reading = {
    process_cpu_seconds_total: 2,
    process_max_fds: Number.NaN,
    process_open_fds: 3,
    process_resident_memory_bytes: 4,
    process_virtual_memory_bytes: 5,
    process_virtual_memory_max_bytes: 6,
  };
  await collectProcess(metrics, async () => reading);
  expect(await read()).toEqual([2, 3, undefined]);
  await collectProcess(metrics, () => Promise.reject(new Error("no /proc")));
  expect(await read()).toEqual([undefined, undefined, undefined]);
});

test("a kubelet's release and platform are a metric", async () => {
  const metrics = new KubeletMetrics({
    nodeName: "n1",
    startMs: 0,
    build: { kubeVersion: "1.25", platform: "linux/amd64" },
  });
  const [sample] = parseMetrics(await metrics.text()).get("kubernetes_build_info")?.samples ?? [];
  const labels = { git_version: "v1.25.0", major: "1", minor: "25", platform: "linux/amd64" };
  expect(sample).toMatchObject({ labels, value: 1 });
});

test("the process is measured, where there is /proc", async () => {
  const metrics = new KubeletMetrics({ nodeName: "n1", startMs: 0 });
  for (let round = 0; round < 2; round++) {
    await collectProcess(metrics);
    const families = parseMetrics(await metrics.text());
    if (process.platform !== "linux") continue;
    const rss = sampleOf(families, "process_resident_memory_bytes") ?? 0;
    expect(rss).toBeGreaterThan(10_000_000);
    expect(sampleOf(families, "process_virtual_memory_bytes")).toBeGreaterThan(rss);
    expect(sampleOf(families, "process_virtual_memory_max_bytes")).toBeGreaterThan(rss);
    expect(sampleOf(families, "process_open_fds")).toBeGreaterThan(2);
    const seconds = sampleOf(families, "process_cpu_seconds_total") ?? 0;
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual((process.cpuUsage().user + process.cpuUsage().system) / 1e6 + 1);
  }
});
