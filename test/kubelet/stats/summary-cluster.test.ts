import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { summaryJson } from "../../../src/kubelet/stats/summary-json.js";
import { IMAGE, Lab, SERVE } from "../scenarios/lab.js";

const KB = 1_000;
const MB = 1_000 * KB;
const GB = 1_000 * MB;
const TB = 1_000 * GB;
const MEMORY = 8 * 2 ** 30;
const { signal } = new AbortController();

type Bounds = readonly [least: number, most: number];

const fs = (used: Bounds): Readonly<Record<string, Bounds>> => ({
  availableBytes: [100 * MB, 10 * TB],
  capacityBytes: [100 * MB, 10 * TB],
  usedBytes: used,
  inodesFree: [1e4, 1e8],
  inodes: [1e4, 1e8],
  inodesUsed: [0, 1e8],
});
const cpu = (nano: Bounds, sum: Bounds) => ({ usageNanoCores: nano, usageCoreNanoSeconds: sum });
const memory = (available: Bounds, used: Bounds) => ({
  availableBytes: available,
  usageBytes: used,
  workingSetBytes: used,
  rssBytes: used,
});
/** The kubelet has no limit, so nothing is available. */
const PROCESS: Readonly<Record<string, Bounds>> = {
  usageBytes: [MB, TB],
  workingSetBytes: [MB, TB],
  rssBytes: [MB, TB],
};

/**
 * What "Summary API: when querying /stats/summary: should report resource usage through the stats api" of test/e2e_node expects of
 * each object. Without network, page faults of containers, and the system containers `runtime` and `misc`, of which the embedded runtime knows nothing.
 */
const EXPECTED: readonly (readonly [what: string, path: string, fields: Readonly<Record<string, Bounds>>])[] = [
  ["the node", "node.cpu", cpu([100e3, 2e9], [1, 1e15])],
  ["the node", "node.memory", memory([100 * MB, MEMORY], [10 * MB, MEMORY])],
  ["the node", "node.fs", fs([KB, 10 * TB])],
  ["images", "node.runtime.imageFs", fs([KB, 10 * TB])],
  ["the node", "node.rlimit", { maxpid: [1, 1e8], curproc: [1, 1e8] }],
  ["all pods", "node.systemContainers.0.memory", memory([KB, MEMORY], [10 * KB, MEMORY])],
  ["the kubelet", "node.systemContainers.1.cpu", cpu([10_000, 2e9], [10_000_000, 1e15])],
  ["the kubelet", "node.systemContainers.1.memory", { ...PROCESS, pageFaults: [1000, 1e9], majorPageFaults: [0, 1e9] }],
  ["a pod", "pods.0.cpu", cpu([0, 1e9], [10_000_000, 1e11])],
  ["a pod", "pods.0.memory", memory([KB, 80 * MB], [10 * KB, 80 * MB])],
  ["a pod", "pods.0.ephemeral-storage", fs([KB, 21 * MB])],
  ["a pod", "pods.0.process_stats", { processCount: [1, 1e8] }],
  ["an emptyDir", "pods.0.volume.0", fs([KB, MB])],
  ["a container", "pods.0.containers.0.cpu", cpu([0, 1e9], [10_000_000, 1e11])],
  ["a container", "pods.0.containers.0.memory", memory([KB, 80 * MB], [10 * KB, 80 * MB])],
  ["a container", "pods.0.containers.0.rootfs", fs([KB, 10 * MB])],
  ["a container", "pods.0.containers.0.logs", fs([KB, 10 * MB])],
];

/** `pods.0.cpu` */
function at(value: unknown, path: string): Record<string, unknown> {
  return path.split(".").reduce((one, key) => (one as Record<string, never>)[key] as never, value) as never;
}

describe("the summary of a node, as upstream's end-to-end test expects it", () => {
  let lab: Lab;
  let summary: unknown;
  beforeAll(async () => {
    lab = await Lab.start({ config: { volumeStatsAggPeriod: "1s" } });
    const script = `echo hello; dd if=/dev/zero of=/layer bs=1024 count=8; dd if=/dev/zero of=/cache/f bs=1024 count=64; ${SERVE[2]}`;
    await lab.createPod({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "busybox" },
      spec: {
        containers: [
          {
            name: "busybox-container",
            image: IMAGE,
            command: ["sh", "-c", script],
            resources: { limits: { memory: "80M" } },
            volumeMounts: [{ name: "test-empty-dir", mountPath: "/cache" }],
          },
        ],
        volumes: [{ name: "test-empty-dir", emptyDir: {} }],
      },
    });
    await lab.history.until("busybox", /^Running Ready/);
    const provider = lab.node.kubelet?.kubelet.summaryProvider;
    // Until its files are there, and the CPU has been read twice.
    for (let readings = 0, used = 0; readings < 2 || used < KB; readings++) {
      await lab.clock.sleep(2_000, signal);
      const read = await provider?.get(true, signal);
      const [pod] = read?.pods ?? [];
      used = Math.min(pod?.containers[0]?.rootfs?.usedBytes ?? 0, pod?.volume?.[0]?.usedBytes ?? 0);
      summary = read && JSON.parse(summaryJson(read));
    }
  }, 60_000);
  afterAll(() => lab?.close());

  for (const [what, path, fields] of EXPECTED) {
    test(`${what}: ${path}`, () => {
      const part = at(summary, path);
      for (const [name, [least, most]] of Object.entries(fields)) {
        const value = part[name];
        expect(typeof value, `${path}.${name}`).toBe("number");
        expect(value, `${path}.${name}`).toBeGreaterThanOrEqual(least);
        expect(value, `${path}.${name}`).toBeLessThanOrEqual(most);
      }
      if (path !== "pods.0.process_stats") expect(String(part["time"])).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    });
  }

  test("names are upstream's, and there are no figures of applications", () => {
    expect(at(summary, "node")["nodeName"]).toBe("node-1");
    expect(at(summary, "node.systemContainers.0")["name"]).toBe("pods");
    expect(at(summary, "node.systemContainers.1")["name"]).toBe("kubelet");
    expect(at(summary, "pods.0.podRef")).toMatchObject({ name: "busybox", namespace: "default" });
    expect(at(summary, "pods.0.volume.0")["name"]).toBe("test-empty-dir");
    expect(JSON.stringify(summary)).not.toMatch(/userDefinedMetrics|accelerators|Ms"/);
  });
});
