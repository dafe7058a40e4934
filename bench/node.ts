import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { median, percentile, printTable } from "./measure.js";
import { type BenchCluster, createPod, deletePods, startBenchCluster, stateFolder } from "./node/cluster.js";
import { StageSink } from "./node/stages.js";
import { metricsReadings } from "./node/stats.js";

/**
 * A node's pods per second: `npm run bench:node [-- --pods N]`.
 *
 * Everything is in one process, as with `kubelab node`: API server, controllers, kubelet, runtime, and the client.
 */
const PODS_PER_SECOND = 10;
const PODS = 100;
const BURST = 110;
const BURSTS = 3;
/** where Linux keeps files in memory */
const MEMORY = "/dev/shm";
const FOLDERS = 100;
const IDLE_SECONDS = 20;
const SETTLE_SECONDS = 5;
const TARGETS = { medianMs: 40, p99Ms: 150, burstMs: 1_500, idlePercent: 1, evictionPercent: 0.3, resourceMs: 10 };
const SYNCHRONIZATIONS = 20;
const SYNC_PAUSE_MS = 200;

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** ms from the create call to Running, of pods that come one by one. */
async function steady(sink?: StageSink): Promise<number[]> {
  await using cluster = await startBenchCluster(sink === undefined ? {} : { sink });
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

interface Bursts {
  /** ms from the first create call until all of them are seen Running, by round */
  readonly times: readonly number[];
  /** CPU of the process, threads included, by pod */
  readonly cpuMs: readonly number[];
  /** the dearest of the times that it took to make a folder, looked at before each round */
  readonly folderUs: number;
}

/**
 * What does not depend on kubelab: some twenty files, folders and links are made for a pod, and a file system may take 10 µs
 * for one or, where many were deleted in the last minutes (ext4 without a journal), 300.
 */
async function burst(under: string): Promise<Bursts> {
  const times: number[] = [];
  const cpuMs: number[] = [];
  let folderUs = 0;
  await using cluster = await startBenchCluster({ under });
  const { client, watcher } = cluster;
  await warmUp(cluster);
  for (let round = 0; round < BURSTS; round++) {
    const names = Array.from({ length: BURST }, (_, i) => `b-${round}-${i}`);
    folderUs = Math.max(folderUs, timeFolders(under));
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
  return { times, cpuMs, folderUs };
}

/** µs that it takes to make one folder there now. */
function timeFolders(under: string): number {
  const parent = mkdtempSync(join(under, "kubelab-bench-"));
  const startedMs = performance.now();
  for (let i = 0; i < FOLDERS; i++) mkdirSync(join(parent, String(i)));
  const us = ((performance.now() - startedMs) * 1_000) / FOLDERS;
  rmSync(parent, { recursive: true });
  return us;
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

/** Per cent of a core that statistics and eviction take: a synchronization every ten seconds, the runtime's part included. */
async function eviction(pods: number): Promise<number> {
  await using cluster = await startBenchCluster();
  for (let i = 0; i < pods; i++) {
    await createPod(cluster.client, `e-${i}`);
    await cluster.watcher.running(`e-${i}`);
  }
  await sleep(SETTLE_SECONDS * 1_000);
  const manager = cluster.node.kubelet?.kubelet.evictionManager;
  const { signal } = new AbortController();
  let cpuUs = 0;
  for (let i = 0; i < SYNCHRONIZATIONS; i++) {
    const before = process.cpuUsage();
    await manager?.synchronize(signal);
    const { user, system } = process.cpuUsage(before);
    cpuUs += user + system;
    await sleep(SYNC_PAUSE_MS);
  }
  return cpuUs / SYNCHRONIZATIONS / 100_000;
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
  const inMemory = existsSync(MEMORY) ? [["in memory", MEMORY] as const] : [];
  for (const [where, under] of [["on disk", stateFolder()] as const, ...inMemory]) {
    const { times, cpuMs, folderUs } = await burst(under);
    const all = times.map((ms) => ms.toFixed(0)).join(", ");
    const what = `${BURST} pods at once, files ${where} (${all})`;
    rows.push([what, `${median(times).toFixed(0)} ms`, `${TARGETS.burstMs} ms`, load()]);
    rows.push(["  CPU per pod, all parts together", `${median(cpuMs).toFixed(1)} ms`, "", load()]);
    rows.push(["  to make one folder there", `${folderUs.toFixed(0)} µs`, "", load()]);
  }
}
if (wants("idle")) {
  rows.push(["idle node", `${(await idle(0)).toFixed(2)} %`, `${TARGETS.idlePercent} %`, load()]);
  for (const pods of [10, BURST]) {
    const percent = `${(await idle(pods)).toFixed(2)} %`;
    rows.push([`idle node with ${pods} pods`, percent, `${TARGETS.idlePercent} %`, load()]);
  }
}
if (wants("eviction")) {
  const percent = `${(await eviction(BURST)).toFixed(2)} %`;
  rows.push([`statistics and eviction with ${BURST} pods`, percent, `${TARGETS.evictionPercent} %`, load()]);
}
if (wants("stats")) {
  const settled = () => sleep((SETTLE_SECONDS + (BURST * 3) / 5) * 1_000);
  for (const { path, medianMs, cpuMs } of await metricsReadings(BURST, settled)) {
    const asked = path === "/metrics/resource" ? `${TARGETS.resourceMs} ms` : "";
    rows.push([`${path} with ${BURST} pods`, `${medianMs.toFixed(1)} ms`, asked, load()]);
    rows.push(["  CPU, all parts together", `${cpuMs.toFixed(1)} ms`, "", load()]);
  }
}
if (rows.length > 1) printTable(rows);
if (wants("stages")) {
  const sink = new StageSink();
  await steady(sink);
  process.stdout.write("\nWhere the time of one pod goes, with a trace that listens (median, p99):\n");
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  const stages = [...sink.stages].map(([stage, list]) => [stage, ms(median(list)), ms(percentile(list, 0.99))]);
  printTable([["stage", "median", "p99"], ...stages]);
}
