import { readFileSync } from "node:fs";
import { KubeRuntime } from "../../src/kubelet/kuberuntime/kube-runtime.js";
import { RemotePodReader } from "../../src/kubelet/kuberuntime/remote-pod-reader.js";
import { createCriClient } from "../../src/staging/cri/remote/create-cri-client.js";
import { Pleg } from "../../src/testbed/pleg/pleg.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { usageOf } from "../apiserver/target.js";
import { median } from "../measure.js";

export interface Measured {
  readonly pods: number;
  /** median */
  readonly listMs: number;
  /** median of relists without changes */
  readonly relistMs: number;
  readonly firstMs: number;
  /** of the first relist */
  readonly firstCpu: FirstCpu;
  /** after 60 relists */
  readonly residentMb: number;
}

/** CPU ms; null: not available on this system */
export interface FirstCpu {
  /** the thread that runs JavaScript */
  readonly main: number | null;
  /** V8's threads: compiler and garbage collector */
  readonly others: number | null;
  readonly server: number | null;
}

const ROUNDS = 60;
const IDLE_MS = 20_000;
/** V8 compacts its heap once, about eight seconds after the start: 30 ms that must not count. */
const SETTLE_MS = 12_000;

/** Measures one endpoint without changing anything. @param serverPids its processes, if known */
export async function measureRelists(endpoint: string, serverPids: readonly number[]): Promise<Measured> {
  await using setUp = await open(endpoint);
  const { client, deps, signal } = setUp;
  const service = new RemotePodReader(client.runtime);
  const pleg = new Pleg({ service, ...deps }, { kubeVersion: "1.25", evented: false });
  const before = cpuNow(serverPids);
  const [firstMs = Number.NaN] = await timesOf(1, () => pleg.generic.relist(signal));
  const firstCpu = cpuSince(before, cpuNow(serverPids));
  pleg.events.takeAll();
  const relistMs = median(await timesOf(ROUNDS, () => pleg.generic.relist(signal)));
  const runtime = new KubeRuntime({ service });
  const listMs = median(await timesOf(ROUNDS, () => runtime.getPods(true, signal)));
  const residentMb = process.memoryUsage().rss / 1e6;
  const pods = [...pleg.generic.listedPods()].length;
  return { pods, listMs, relistMs, firstMs, firstCpu, residentMb };
}

/** Percent of one core used by an idle PLEG in a fresh process; null: the runtime has no events. */
export async function measureIdle(endpoint: string, evented: boolean): Promise<number | null> {
  await using setUp = await open(endpoint);
  const { client, deps } = setUp;
  const service = new RemotePodReader(client.runtime);
  const pleg = new Pleg({ service, ...deps }, { kubeVersion: evented ? "1.26" : "1.25", evented });
  const stop = new AbortController();
  const running = pleg.run(stop.signal).catch(() => {}); // ends with the abort
  await deps.clock.sleep(SETTLE_MS);
  const before = process.cpuUsage();
  await deps.clock.sleep(IDLE_MS);
  const { user, system } = process.cpuUsage(before);
  const hasEvents = pleg.evented?.hasFallenBack !== true;
  stop.abort();
  await running;
  return hasEvents ? (user + system) / 1000 / IDLE_MS / 0.01 : null;
}

async function open(endpoint: string) {
  const clock = new SystemClock();
  const deps = { clock, trace: new Trace(clock) };
  const { signal } = new AbortController();
  const client = await createCriClient(endpoint, { ...deps, actor: "kubelet" }, {}, signal);
  return { client, deps, signal, [Symbol.asyncDispose]: () => client.close() };
}

async function timesOf(rounds: number, body: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    await body();
    times.push(performance.now() - start);
  }
  return times;
}

interface Cpu {
  readonly all: number;
  readonly main: number | undefined;
  readonly server: number | undefined;
}

function cpuNow(serverPids: readonly number[]): Cpu {
  const { user, system } = process.cpuUsage();
  return { all: (user + system) / 1000, main: mainThreadMs(), server: usageOf(serverPids)?.cpuMs };
}

function cpuSince(before: Cpu, now: Cpu): FirstCpu {
  const between = (key: keyof Cpu) =>
    now[key] === undefined || before[key] === undefined ? null : now[key] - before[key];
  const main = between("main");
  return { main, others: main === null ? null : now.all - before.all - main, server: between("server") };
}

/** CPU ms of the thread that runs JavaScript, from the kernel. */
function mainThreadMs(): number | undefined {
  try {
    const [ns] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
    return Number(ns) / 1e6;
  } catch {
    return undefined; // no /proc on this system
  }
}
