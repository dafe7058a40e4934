import { expect, test } from "vitest";
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
    await summaryProvider?.get(true, new AbortController().signal);
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
  } finally {
    await lab.close();
  }
});
