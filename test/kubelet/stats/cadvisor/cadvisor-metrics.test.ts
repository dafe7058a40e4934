import { expect, test } from "vitest";
import type { NodeStats } from "../../../../src/kubelet/apis/stats/v1alpha1.js";
import { containerInfos } from "../../../../src/kubelet/stats/cadvisor/container-info.js";
import { cadvisorMetrics } from "../../../../src/kubelet/stats/cadvisor/prometheus.js";
import type { ListedPodStats } from "../../../../src/kubelet/stats/cri-stats-provider.js";
import { parseMetrics, sampleOf } from "../../../support/prometheus.js";
import { podOf } from "../../eviction/pods.js";

const MACHINE = {
  ...{ bootID: "b", machineID: "m", systemUUID: "s", kernelVersion: "6.1", osImage: "Debian" },
  ...{ cores: 4, memoryBytes: 8 * 2 ** 30 },
};
const IDS = { boot_id: "b", machine_id: "m", system_uuid: "s" };
const MS = 1_700_000_000_123;
const POD = podOf({ name: "web", limits: { cpu: "500m", memory: "64Mi" } });
const NONE = { container: "", id: "", image: "", name: "", namespace: "", pod: "" };
const OF_POD = { ...NONE, id: "/kubepods/podU", namespace: "default", pod: "web" };
const OF_CONTAINER = { ...OF_POD, container: "app", id: "/kubepods/podU/c1", image: "busybox", name: "c1" };

const NODE: NodeStats = {
  nodeName: "n1",
  cpu: { timeMs: MS, usageCoreNanoSeconds: 9e9 },
  memory: { timeMs: MS, workingSetBytes: 900 },
  fs: { timeMs: MS, usedBytes: 30, capacityBytes: 100, inodes: 10, inodesFree: 6 },
  systemContainers: [{ name: "pods", startTimeMs: 0, memory: { timeMs: MS, workingSetBytes: 800 } }],
};

function listed(): ListedPodStats {
  const cpu = { timeMs: MS, usageCoreNanoSeconds: 2_500_000_000 };
  const memory = { timeMs: MS, usageBytes: 40, workingSetBytes: 30, rssBytes: 20, pageFaults: 7, majorPageFaults: 1 };
  const stats = { name: "app", startTimeMs: 5_999, cpu, memory, rootfs: { timeMs: MS, usedBytes: 12 } };
  const podRef = { name: "web", namespace: "default", uid: POD.metadata.uid };
  const interfaces = [
    { name: "eth0", rxBytes: 1, rxErrors: 2, txBytes: 3, txErrors: 4 },
    { name: "eth1", rxBytes: 5 },
  ];
  const network = { timeMs: MS, ...interfaces[0], interfaces };
  return {
    pods: [
      { podRef, startTimeMs: 4_000, containers: [stats], cpu, memory, network, processStats: { processCount: 3 } },
    ],
    containers: [{ containerId: "c1", image: "sha256:0", podRef, stats }],
  };
}

function read(podCgroup = "/kubepods/podU", isKnown = true) {
  const resources = { cpuCfsQuota: true, memoryCapacityBytes: MACHINE.memoryBytes };
  const deps = { getPodByUid: () => (isKnown ? POD : undefined), podCgroup: () => podCgroup, resources };
  const text = cadvisorMetrics(containerInfos(deps, NODE, listed()), MACHINE);
  const families = parseMetrics(text);
  return { text, families, of: (name: string, labels: object) => sampleOf(families, name, { ...labels }) };
}

const figures = [
  ["container_cpu_usage_seconds_total", { ...OF_CONTAINER, cpu: "total" }, 2.5],
  ["container_cpu_usage_seconds_total", { ...OF_POD, cpu: "total" }, 2.5],
  ["container_cpu_usage_seconds_total", { ...NONE, cpu: "total", id: "/" }, 9],
  ["container_memory_working_set_bytes", OF_CONTAINER, 30],
  ["container_memory_working_set_bytes", OF_POD, 30],
  ["container_memory_working_set_bytes", { ...NONE, id: "/" }, 900],
  ["container_memory_working_set_bytes", { ...NONE, id: "/kubepods" }, 800],
  ["container_memory_usage_bytes", OF_CONTAINER, 40],
  ["container_memory_rss", OF_CONTAINER, 20],
  ["container_memory_failures_total", { ...OF_CONTAINER, failure_type: "pgfault", scope: "container" }, 7],
  ["container_memory_failures_total", { ...OF_CONTAINER, failure_type: "pgmajfault", scope: "container" }, 1],
  ["container_start_time_seconds", OF_CONTAINER, 5],
  ["container_start_time_seconds", OF_POD, 4],
  ["container_spec_cpu_period", OF_CONTAINER, 100_000],
  ["container_spec_cpu_quota", OF_CONTAINER, 50_000],
  ["container_spec_cpu_shares", OF_CONTAINER, 512],
  ["container_spec_memory_limit_bytes", OF_CONTAINER, 64 * 2 ** 20],
  ["container_fs_usage_bytes", { ...OF_CONTAINER, device: "" }, 12],
  ["container_fs_limit_bytes", { ...NONE, device: "", id: "/" }, 100],
  ["container_fs_inodes_free", { ...NONE, device: "", id: "/" }, 6],
  ["container_network_receive_bytes_total", { ...OF_POD, interface: "eth0" }, 1],
  ["container_network_receive_bytes_total", { ...OF_POD, interface: "eth1" }, 5],
  ["container_network_transmit_errors_total", { ...OF_POD, interface: "eth0" }, 4],
  ["container_network_transmit_errors_total", { ...OF_POD, interface: "eth1" }, undefined],
  ["container_processes", OF_POD, 3],
  ["container_scrape_error", {}, 0],
  ["machine_cpu_cores", IDS, 4],
  ["machine_memory_bytes", IDS, 8 * 2 ** 30],
  [
    "cadvisor_version_info",
    { cadvisorRevision: "", cadvisorVersion: "", dockerVersion: "", kernelVersion: "6.1", osVersion: "Debian" },
    1,
  ],
] as const;
for (const [name, labels, want] of figures) {
  test(`${name} of ${"id" in labels ? labels.id : "the machine"} ${JSON.stringify(labels)}: ${want}`, () => {
    expect(read().of(name, labels)).toBe(want);
  });
}

test("families stand in the order of their names, without a stability level, and measurements have their time", () => {
  const { text, families } = read();
  expect([...families.keys()]).toEqual([...families.keys()].sort());
  expect(text).not.toContain("[ALPHA]");
  expect(text).toContain(
    `container_memory_rss{container="app",id="/kubepods/podU/c1",image="busybox",name="c1",namespace="default",pod="web"} 20 ${MS}\n`,
  );
});

test("labels stand in the order of their names", () => {
  for (const [, pairs = ""] of read().text.matchAll(/^\w+\{(.*)\}/gm)) {
    const names = [...pairs.matchAll(/(\w+)="/g)].map(([, name]) => name);
    expect(names).toEqual([...names].sort());
  }
});

test("a pod without a cgroup of its own has no row; its containers have", () => {
  const { of } = read("");
  expect(of("container_memory_rss", { ...OF_POD, id: "" })).toBeUndefined();
  expect(of("container_memory_rss", { ...OF_CONTAINER, id: "/c1" })).toBe(20);
});

test("a container of a pod that the kubelet does not know has no limits", () => {
  const { families, of } = read("/kubepods/podU", false);
  expect(of("container_memory_rss", { ...OF_CONTAINER, id: "/c1", image: "sha256:0" })).toBe(20);
  expect(families.has("container_spec_cpu_shares")).toBe(false);
});

test("without statistics there is an error, and the machine", () => {
  const families = parseMetrics(cadvisorMetrics(undefined, MACHINE));
  expect([...families.keys()]).toEqual([
    ...["cadvisor_version_info", "container_scrape_error", "machine_cpu_cores", "machine_memory_bytes"],
  ]);
  expect(sampleOf(families, "container_scrape_error")).toBe(1);
});
