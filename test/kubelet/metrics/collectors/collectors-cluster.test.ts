import { expect, test } from "vitest";
import { readCadvisorMetrics } from "../../../../src/kubelet/app/cadvisor-metrics.js";
import { parseMetrics, sampleOf } from "../../../support/prometheus.js";
import { IMAGE, Lab, SERVE } from "../../scenarios/lab.js";

test("a kubelet's requests, volumes, containers and logs are in its /metrics, as a Prometheus parser reads them", async () => {
  const lab = await Lab.start();
  try {
    await lab.createPod({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web" },
      spec: {
        containers: [{ name: "c", image: IMAGE, command: SERVE, volumeMounts: [{ name: "cache", mountPath: "/c" }] }],
        volumes: [{ name: "cache", emptyDir: {} }],
      },
    });
    await lab.history.until("web", /^Running/);
    const { metrics, summaryProvider } = lab.node.kubelet?.kubelet ?? {};
    const { signal } = new AbortController();
    await summaryProvider?.get(true, signal);
    const families = parseMetrics((await metrics?.text()) ?? "");
    const host = new URL(lab.link.url).host;
    const read = (name: string, labels = {}) => sampleOf(families, name, labels);
    expect(read("rest_client_requests_total", { code: "201", host, method: "POST" })).toBeGreaterThan(0);
    expect(read("rest_client_request_duration_seconds_count", { host, verb: "PATCH" })).toBeGreaterThan(0);
    expect(read("kubelet_certificate_manager_client_ttl_seconds")).toBeGreaterThan(3600);
    expect(read("kubelet_started_pods_total")).toBe(1);
    expect(read("kubelet_started_containers_total", { container_type: "container" })).toBe(1);
    expect(read("kubelet_run_podsandbox_duration_seconds_count", { runtime_handler: "" })).toBe(1);
    const plugin = "kubernetes.io/empty-dir";
    for (const state of ["actual_state_of_world", "desired_state_of_world"]) {
      expect(read("volume_manager_total_volumes", { plugin_name: plugin, state })).toBe(1);
    }
    const operation = { migrated: "false", operation_name: "volume_mount", status: "success", volume_plugin: plugin };
    expect(read("storage_operation_duration_seconds_count", operation)).toBeGreaterThan(0);
    const [log] = families.get("kubelet_container_log_filesystem_used_bytes")?.samples ?? [];
    expect(log?.labels).toMatchObject({ container: "c", namespace: "default", pod: "web" });
    expect(log?.value).toBeGreaterThan(0);
    expect(read("kubelet_managed_ephemeral_containers")).toBe(0);

    const { kubelet } = lab.node.kubelet ?? {};
    const cadvisor = parseMetrics(kubelet === undefined ? "" : await readCadvisorMetrics(kubelet, signal));
    const { containerId: id } = lab.running("web");
    const uid = lab.history.pod("web").metadata.uid;
    const cgroup = `/kubepods/besteffort/pod${uid}`;
    const ofPod = { container: "", id: cgroup, image: "", name: "", namespace: "default", pod: "web" };
    const ofContainer = { ...ofPod, container: "c", id: `${cgroup}/${id}`, image: IMAGE, name: id };
    expect(sampleOf(cadvisor, "container_memory_working_set_bytes", ofContainer)).toBeGreaterThan(0);
    expect(sampleOf(cadvisor, "container_cpu_usage_seconds_total", { ...ofPod, cpu: "total" })).toBeGreaterThan(0);
    expect(sampleOf(cadvisor, "container_processes", ofPod)).toBeGreaterThan(1);
    expect(sampleOf(cadvisor, "container_scrape_error")).toBe(0);
    expect(cadvisor.get("machine_cpu_cores")?.samples[0]?.value).toBe(4);
  } finally {
    await lab.close();
  }
});

test("a runtime without statistics: the kubelet's own metrics and the machine are there, and each reader is told", async () => {
  const lab = await Lab.start();
  try {
    const { signal } = new AbortController();
    const { kubelet } = lab.node.kubelet ?? {};
    if (kubelet === undefined) throw new Error("it runs");
    const fail = { code: "Unimplemented", message: "no statistics" } as const;
    lab.runtime.setFault("ListContainerStats", { fail });
    const message = "failed to list all container stats: rpc error: code = Unimplemented desc = no statistics";
    await expect(kubelet.summaryProvider.get(true, signal)).rejects.toThrow(message);
    const cadvisor = parseMetrics(await readCadvisorMetrics(kubelet, signal));
    expect(sampleOf(cadvisor, "container_scrape_error")).toBe(1);
    expect(cadvisor.has("machine_memory_bytes")).toBe(true);
    const families = parseMetrics(await kubelet.metrics.text());
    expect(families.has("kubelet_container_log_filesystem_used_bytes")).toBe(false);
    expect(sampleOf(families, "kubelet_node_name", { node: "node-1" })).toBe(1);
  } finally {
    await lab.close();
  }
});
