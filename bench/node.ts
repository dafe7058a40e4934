import { loadavg } from "node:os";
import { compileLess } from "../src/util/compile-less.js";
import { median, printTable } from "./measure.js";
import { type BenchCluster, createPod, deletePods, startBenchCluster } from "./node/cluster.js";
import { StageSink } from "./node/stages.js";

compileLess(); // as the program does

/**
 * A node's pods per second: `npm run bench:node [-- --pods N]`.
 *
 * Everything is in one process, as with `kubelab node`: API server, controllers, kubelet, runtime, and the client.
 */
const PODS_PER_SECOND = 10;
const PODS = 100;
const BURST = 110;
const BURSTS = 3;
const IDLE_SECONDS = 20;
const SETTLE_SECONDS = 5;
const TARGETS = { medianMs: 40, p99Ms: 150, burstMs: 1_500, idlePercent: 1 };

function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** ms from the create call to Running, of pods that come one by one. */
async function steady(sink?: StageSink): Promise<number[]> {
  await using cluster = await startBenchCluster(sink);
  const { client, watcher } = cluster;
  await warmUp(cluster);
  const names = Array.from({ length: PODS }, (_, i) => `p-${i}`);
  const startedMs = performance.now();
  const times = await Promise.all(
    names.map(async (name, i) => {
      await sleep(startedMs + (i * 1_000) / PODS_PER_SECOND - performance.now());
      const createdMs = await createPod(client, name);
      await watcher.running(name);
      const runningMs = watcher.seen.get(name)?.running ?? Number.NaN;
      sink?.pod(name, createdMs, watcher.seen.get(name) ?? {});
      return runningMs - createdMs;
    }),
  );
  return times;
}

/** The node's taints are gone, and all code has been loaded. */
async function warmUp({ client, watcher }: BenchCluster): Promise<void> {
  for (const name of ["w-0", "w-1", "w-2"]) {
    await createPod(client, name);
    await watcher.running(name);
  }
  await deletePods(client, watcher, ["w-0", "w-1", "w-2"]);
}

/** ms from the first create call until all of them are seen Running. */
async function burst(): Promise<{ readonly times: readonly number[]; readonly cpuMs: readonly number[] }> {
  const times: number[] = [];
  const cpuMs: number[] = [];
  await using cluster = await startBenchCluster();
  const { client, watcher } = cluster;
  await warmUp(cluster);
  for (let round = 0; round < BURSTS; round++) {
    const names = Array.from({ length: BURST }, (_, i) => `b-${round}-${i}`);
    const startedMs = performance.now();
    const before = process.cpuUsage();
    await Promise.all(
      names.map(async (name) => {
        await createPod(client, name);
        await watcher.running(name);
      }),
    );
    times.push(performance.now() - startedMs);
    const { user, system } = process.cpuUsage(before);
    cpuMs.push((user + system) / 1_000 / BURST);
    await deletePods(client, watcher, names);
  }
  return { times, cpuMs };
}

/** Per cent of a core that the process takes while nothing happens. */
async function idle(pods: number): Promise<number> {
  await using cluster = await startBenchCluster();
  for (let i = 0; i < pods; i++) {
    await createPod(cluster.client, `i-${i}`);
    await cluster.watcher.running(`i-${i}`);
  }
  // Pods' events are written at five a second, three for each: they are no part of idling.
  await sleep((SETTLE_SECONDS + (pods * 3) / 5) * 1_000);
  const before = process.cpuUsage();
  await sleep(IDLE_SECONDS * 1_000);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 10_000 / IDLE_SECONDS;
}

const load = () => loadavg()[0]?.toFixed(1) ?? "?";
const only = new Set(process.argv.slice(2).filter((arg) => !arg.startsWith("--")));
const wants = (part: string) => only.size === 0 || only.has(part);
const rows: string[][] = [["what", "measured", "asked", "load"]];

if (wants("steady")) {
  const times = await steady();
  rows.push([
    "create -> Running, 10 pods/s: median",
    `${median(times).toFixed(1)} ms`,
    `${TARGETS.medianMs} ms`,
    load(),
  ]);
  rows.push([
    "create -> Running, 10 pods/s: p99",
    `${percentile(times, 0.99).toFixed(1)} ms`,
    `${TARGETS.p99Ms} ms`,
    load(),
  ]);
}
if (wants("burst")) {
  const { times, cpuMs } = await burst();
  const all = times.map((ms) => ms.toFixed(0)).join(", ");
  rows.push([
    `${BURST} pods at once, all Running (${all})`,
    `${median(times).toFixed(0)} ms`,
    `${TARGETS.burstMs} ms`,
    load(),
  ]);
  // What does not depend on who else uses the machine.
  rows.push(["CPU per pod, all parts together", `${median(cpuMs).toFixed(1)} ms`, "", load()]);
}
if (wants("idle")) {
  rows.push(["idle node", `${(await idle(0)).toFixed(2)} %`, `${TARGETS.idlePercent} %`, load()]);
  for (const pods of [10, BURST]) {
    const percent = `${(await idle(pods)).toFixed(2)} %`;
    rows.push([`idle node with ${pods} pods`, percent, `${TARGETS.idlePercent} %`, load()]);
  }
}
if (rows.length > 1) printTable(rows);
if (wants("stages")) {
  const sink = new StageSink();
  await steady(sink);
  process.stdout.write("\nWhere the time of one pod goes, with a trace that listens (median, p99):\n");
  printTable([["stage", "median", "p99"], ...sink.rows(median, (values) => percentile(values, 0.99))]);
}
