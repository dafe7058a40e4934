import { readCadvisorMetrics } from "../../src/kubelet/app/cadvisor-metrics.js";
import { resourceMetrics } from "../../src/kubelet/metrics/collectors/resource-metrics.js";
import { median } from "../measure.js";
import { createPod, startBenchCluster } from "./cluster.js";

const READINGS = 50;

interface Readings {
  readonly path: string;
  /** ms until the body is there */
  readonly medianMs: number;
  /** ms of CPU of all parts together, by reading */
  readonly cpuMs: number;
}

/** What the bodies of the kubelet's metrics cost. @param settled waits for the events of new pods */
export async function metricsReadings(pods: number, settled: () => Promise<void>): Promise<readonly Readings[]> {
  await using cluster = await startBenchCluster();
  const { client, watcher, node } = cluster;
  const kubelet = node.kubelet?.kubelet;
  if (kubelet === undefined) throw new Error("the node runs");
  const names = Array.from({ length: pods }, (_, i) => `s-${i}`);
  for (const name of names) await createPod(client, name);
  for (const name of names) await watcher.running(name);
  await settled();
  const { signal } = new AbortController();
  const bodies: readonly (readonly [path: string, read: () => Promise<unknown>])[] = [
    ["/metrics/resource", async () => resourceMetrics(await kubelet.summaryProvider.getCpuAndMemoryStats(signal))],
    ["/metrics/cadvisor", () => readCadvisorMetrics(kubelet, signal)],
    ["/metrics", () => kubelet.metrics.text()],
  ];
  const all: Readings[] = [];
  for (const [path, read] of bodies) {
    for (let i = 0; i < READINGS; i++) await read(); // compiles
    const times: number[] = [];
    const before = process.cpuUsage();
    for (let i = 0; i < READINGS; i++) {
      const startedMs = performance.now();
      await read();
      times.push(performance.now() - startedMs);
    }
    const { user, system } = process.cpuUsage(before);
    all.push({ path, medianMs: median(times), cpuMs: (user + system) / 1_000 / READINGS });
  }
  return all;
}
