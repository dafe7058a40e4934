import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, type Runtime, startRuntime } from "../src/cluster/runtime/start.js";
import { openCriChannel } from "../src/staging/cri/client.js";
import { expectOk } from "../src/staging/cri/grpc/status.js";
import { IMAGE_SERVICE, RUNTIME_SERVICE } from "../src/staging/cri/services.js";
import { Trace } from "../src/trace/trace.js";
import { SystemClock } from "../src/util/clock.js";
import { SystemRandom } from "../src/util/random.js";

/**
 * What the embedded runtime's own work costs: `npm run bench:runtime`.
 *
 * Server-side times are of the handlers and the encoding, without gRPC; the last rows go over a socket.
 */
const CONTAINERS = 10_000;
const PODS = CONTAINERS / 2;
const LISTS = 20;
const STARTS = 500;

const clock = new SystemClock();
const trace = new Trace(clock);
const deps = { clock, random: new SystemRandom(), trace };
const never = new AbortController().signal;

interface Row {
  readonly what: string;
  readonly ms: number;
  readonly limitMs?: number;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function podSeed(index: number) {
  const labels = { app: `app-${index % 50}`, tier: "web" };
  const annotations = { "io.kubernetes.container.hash": "a1b2c3d4", "io.kubernetes.container.restartCount": "0" };
  const container = (name: string) => ({ name, image: "busybox", command: ["sleep", "infinity"], annotations });
  return {
    name: `pod-${index}`,
    namespace: "default",
    uid: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
    labels,
    annotations,
    containers: [container("main"), container("sidecar")],
  };
}

/** One list as the server makes it: handler and bytes. */
function list(runtime: Runtime): number {
  const context = { rpc: RUNTIME_SERVICE.listContainers, signal: never };
  const startMs = performance.now();
  const answer = runtime.handlers.runtime.listContainers?.({ filter: undefined }, context);
  if (!(answer !== undefined && "bytes" in answer)) RUNTIME_SERVICE.listContainers.response.encode(answer as never);
  return performance.now() - startMs;
}

function listRows(runtime: Runtime): Row[] {
  const first = list(runtime);
  const same = Array.from({ length: LISTS }, () => list(runtime));
  const changed = Array.from({ length: LISTS }, (_, index) => {
    runtime.control.runPod(podSeed(PODS + index));
    return list(runtime);
  });
  return [
    { what: `first list of ${CONTAINERS} containers`, ms: first, limitMs: 60 },
    { what: "the same list again", ms: median(same), limitMs: 60 },
    { what: "a list after a change", ms: median(changed), limitMs: 60 },
  ];
}

function startRows(): Row[] {
  const runtime = createRuntime(deps, "/nonexistent");
  runtime.control.runPod(podSeed(0));
  const times = Array.from({ length: STARTS }, (_, index) => {
    const startMs = performance.now();
    runtime.control.runPod(podSeed(index + 1));
    return performance.now() - startMs;
  });
  runtime.stop();
  return [{ what: "start a pod: sandbox, two containers", ms: median(times), limitMs: 2 }];
}

async function socketRows(): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), "kubelab-bench-"));
  const startMs = performance.now();
  const runtime = await startRuntime({ ...deps, rootDir: folder });
  const startedMs = performance.now() - startMs;
  const channel = openCriChannel(runtime.endpoint, { clock, trace, actor: "kubelet" });
  const call = async (name: "image" | number) => {
    if (name === "image") {
      expectOk(await channel.call(IMAGE_SERVICE.imageStatus, { image: { image: "busybox" } }, {}), "look");
      return 0;
    }
    const beginMs = performance.now();
    expectOk(await channel.call(RUNTIME_SERVICE.listContainers, {}, {}), "list");
    return performance.now() - beginMs;
  };
  await call("image");
  for (let index = 0; index < PODS; index++) runtime.control.runPod(podSeed(index));
  await call(0);
  const times: number[] = [];
  for (let index = 1; index <= LISTS; index++) times.push(await call(index));
  await channel.close();
  await runtime.close();
  await rm(folder, { recursive: true, force: true });
  return [
    { what: "start the server", ms: startedMs },
    { what: `list of ${CONTAINERS} over a socket, decoded in full`, ms: median(times) },
  ];
}

const runtime = createRuntime(deps, "/nonexistent");
for (let index = 0; index < PODS; index++) runtime.control.runPod(podSeed(index));
const rows = [...listRows(runtime), ...startRows(), ...(await socketRows())];
runtime.stop();
for (const { what, ms, limitMs } of rows) {
  const limit = limitMs === undefined ? "" : `  (at most ${limitMs} ms)`;
  console.log(`${what.padEnd(48)} ${ms.toFixed(2).padStart(8)} ms${limit}`);
}
console.log(`resident memory ${(process.memoryUsage().rss / 1_000_000).toFixed(0)} MB`);
