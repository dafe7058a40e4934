import { createCriClient } from "../../src/kubelet/cri/create-cri-client.js";
import { KubeRuntime } from "../../src/kubelet/kuberuntime/kube-runtime.js";
import { RemotePodReader } from "../../src/kubelet/kuberuntime/remote-pod-reader.js";
import { Pleg } from "../../src/kubelet/pleg/pleg.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { median } from "../measure.js";

export interface Measured {
  readonly pods: number;
  /** median */
  readonly listMs: number;
  /** median, nothing having changed */
  readonly relistMs: number;
  readonly firstMs: number;
  /** after a minute's worth of relists */
  readonly residentMb: number;
  /** of one core, with a relist every second */
  readonly idlePercent: number;
  /** of one core, with events in place of relists; null: the runtime has none */
  readonly eventedIdlePercent: number | null;
}

const ROUNDS = 60;
const IDLE_MS = 10_000;
const SETTLE_MS = 3_000;

/** Measures one endpoint; nothing is changed there. */
export async function measureRelists(endpoint: string): Promise<Measured> {
  const clock = new SystemClock();
  const trace = new Trace(clock);
  const signal = new AbortController().signal;
  await using client = await createCriClient(endpoint, { clock, trace, actor: "kubelet" }, {}, signal);
  const service = new RemotePodReader(client.runtime);
  const pleg = new Pleg({ service, clock, trace }, { kubeVersion: "1.25", evented: false });
  const [firstMs = Number.NaN] = await timesOf(1, () => pleg.generic.relist(signal));
  pleg.events.takeAll();
  const relistMs = median(await timesOf(ROUNDS, () => pleg.generic.relist(signal)));
  const runtime = new KubeRuntime({ service });
  const listMs = median(await timesOf(ROUNDS, () => runtime.getPods(true, signal)));
  const residentMb = process.memoryUsage().rss / 1e6;
  const pods = [...pleg.generic.listedPods()].length;
  const idlePercent = await idle(pleg);
  const evented = new Pleg({ service, clock, trace }, { kubeVersion: "1.26", evented: true });
  const eventedIdlePercent = await idle(evented);
  const hasEvents = evented.evented?.hasFallenBack === false;
  return {
    pods,
    listMs,
    relistMs,
    firstMs,
    residentMb,
    idlePercent,
    eventedIdlePercent: hasEvents ? eventedIdlePercent : null,
  };
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

/** Lets it run with nothing to do. */
async function idle(pleg: Pleg): Promise<number> {
  const { clock } = pleg.deps;
  const stop = new AbortController();
  const running = pleg.run(stop.signal).catch(() => {}); // ends with the abort
  // The first relist inspects everything, and leaves a heap to be cleaned up.
  while (pleg.summary.relists === 0) await clock.sleep(100);
  await clock.sleep(SETTLE_MS);
  const before = process.cpuUsage();
  await clock.sleep(IDLE_MS);
  const { user, system } = process.cpuUsage(before);
  stop.abort();
  await running;
  return (user + system) / 1000 / IDLE_MS / 0.01;
}
