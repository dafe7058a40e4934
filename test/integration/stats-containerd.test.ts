import { expect, test } from "vitest";
import { BUSYBOX_IMAGE } from "../support/containerd.js";
import { containerdCluster } from "../support/containerd-cluster.js";
import { parseMetrics, sampleOf } from "../support/prometheus.js";
import { suiteNeeding } from "../support/requirements.js";

const { signal } = new AbortController();
const LIMIT_MS = 150_000;

/** Uses CPU all the time, and memory and its log a little. */
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "busy" },
  spec: {
    hostNetwork: true,
    nodeName: "node-1",
    tolerations: [{ operator: "Exists" }],
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: "c",
        image: BUSYBOX_IMAGE,
        imagePullPolicy: "Never",
        command: ["sh", "-c", "echo hello; i=0; while true; do i=$((i+1)); [ $((i % 2000)) = 0 ] && sleep 0.1; done"],
        resources: { limits: { memory: "64Mi" }, requests: { cpu: "100m" } },
      },
    ],
  },
};

suiteNeeding(["kubectl", "containerd", "busybox-static", "root"], "statistics of a node on containerd", () => {
  const cluster = containerdCluster();
  const { start, kubectl, create } = cluster;
  const fromKubelet = (path: string) => kubectl("get", "--raw", `/api/v1/nodes/node-1/proxy${path}`);

  /** What containerd itself reports of the pod's container: `crictl stats` shows the same. */
  async function fromRuntime() {
    const result = await cluster.containerd.client.stats.listContainerStats(undefined, signal);
    if (result.outcome !== "ok") throw new Error(result.text);
    const found = result.value.find(({ attributes }) => attributes?.labels["io.kubernetes.pod.name"] === "busy");
    const { attributes, cpu, memory, writableLayer } = found ?? {};
    return {
      id: attributes?.id ?? "",
      cpuSeconds: Number(cpu?.usageCoreNanoSeconds?.value ?? 0n) / 1e9,
      memoryBytes: Number(memory?.workingSetBytes?.value ?? 0n),
      layerBytes: Number(writableLayer?.usedBytes?.value ?? 0n),
    };
  }

  test(
    "the summary and the metrics have containerd's own figures",
    async () => {
      await start("node", "--cri", cluster.containerd.endpoint).printed(/^kubectl/m);
      await create(POD);
      await kubectl("wait", "--for=condition=Ready", "pod/busy", "--timeout=60s");
      const uid = await kubectl("get", "pod", "busy", "-o", "jsonpath={.metadata.uid}");

      const before = await fromRuntime();
      const summary = JSON.parse(await fromKubelet("/stats/summary"));
      const resource = parseMetrics(await fromKubelet("/metrics/resource"));
      const cadvisor = parseMetrics(await fromKubelet("/metrics/cadvisor"));
      const own = parseMetrics(await fromKubelet("/metrics"));
      const after = await fromRuntime();
      expect(before.cpuSeconds).toBeGreaterThan(0);
      expect(before.memoryBytes).toBeGreaterThan(0);

      const pod = summary.pods.find((one: { podRef: { uid: string } }) => one.podRef.uid === uid);
      const [container] = pod.containers;
      const names = { container: "c", namespace: "default", pod: "busy" };
      const row = { ...names, id: `/${before.id}`, image: BUSYBOX_IMAGE, name: before.id };
      const cpu = [
        container.cpu.usageCoreNanoSeconds / 1e9,
        sampleOf(resource, "container_cpu_usage_seconds_total", names),
        sampleOf(cadvisor, "container_cpu_usage_seconds_total", { ...row, cpu: "total" }),
      ];
      for (const seconds of cpu) {
        expect(seconds).toBeGreaterThanOrEqual(before.cpuSeconds);
        expect(seconds).toBeLessThanOrEqual(after.cpuSeconds);
      }
      const near = 2 * 2 ** 20;
      const memory = [
        container.memory.workingSetBytes,
        sampleOf(resource, "container_memory_working_set_bytes", names),
        sampleOf(cadvisor, "container_memory_working_set_bytes", row),
      ];
      for (const bytes of memory) expect(Math.abs((bytes ?? 0) - before.memoryBytes)).toBeLessThan(near);
      expect(container.rootfs.usedBytes).toBe(before.layerBytes);
      expect(container.logs.usedBytes).toBeGreaterThan(0);
      expect(container.logs.capacityBytes).toBe(summary.node.fs.capacityBytes);
      expect(pod["ephemeral-storage"].usedBytes).toBe(container.rootfs.usedBytes + container.logs.usedBytes);
      // This containerd knows nothing of a sandbox without the cgroup of its pod, which a real machine's kubelet would own.
      const sandboxes = await cluster.containerd.client.stats.listPodSandboxStats(undefined, signal);
      expect(sandboxes.outcome === "ok" || pod.process_stats === undefined).toBe(true);
      expect(sampleOf(cadvisor, "container_spec_memory_limit_bytes", row)).toBe(64 * 2 ** 20);
      expect(sampleOf(cadvisor, "container_spec_cpu_shares", row)).toBe(102);
      expect(sampleOf(cadvisor, "container_scrape_error")).toBe(0);
      expect(sampleOf(own, "kubelet_started_pods_total")).toBe(1);
      expect(own.get("kubelet_container_log_filesystem_used_bytes")?.samples[0]?.value).toBe(container.logs.usedBytes);

      // Nothing of disks and processes.
      const lean = JSON.parse(await fromKubelet("/stats/summary?only_cpu_and_memory=true"));
      expect(Object.keys(lean.node).sort()).toEqual(["cpu", "memory", "nodeName", "startTime", "systemContainers"]);
      expect(Object.keys(lean.pods[0].containers[0]).sort()).toEqual(["cpu", "memory", "name", "startTime"]);
    },
    LIMIT_MS,
  );
});
