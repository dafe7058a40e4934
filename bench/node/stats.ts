import { resourceMetrics } from "../../src/kubelet/metrics/collectors/resource-metrics.js";
import { median } from "../measure.js";
import { createPod, startBenchCluster } from "./cluster.js";

const READINGS = 50;

/** ms to answer /metrics/resource, and ms of CPU of all parts together. @param settled waits for the events of new pods */
export async function resourceReadings(
  pods: number,
  settled: () => Promise<void>,
): Promise<{ readonly medianMs: number; readonly cpuMs: number }> {
  await using cluster = await startBenchCluster();
  const { client, watcher, node } = cluster;
  const names = Array.from({ length: pods }, (_, i) => `s-${i}`);
  for (const name of names) await createPod(client, name);
  for (const name of names) await watcher.running(name);
  await settled();
  const { signal } = new AbortController();
  const read = async () => resourceMetrics(await node.kubelet?.kubelet.summaryProvider.getCpuAndMemoryStats(signal));
  for (let i = 0; i < READINGS; i++) await read(); // compiles
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let i = 0; i < READINGS; i++) {
    const startedMs = performance.now();
    await read();
    times.push(performance.now() - startedMs);
  }
  const { user, system } = process.cpuUsage(before);
  return { medianMs: median(times), cpuMs: (user + system) / 1_000 / READINGS };
}
