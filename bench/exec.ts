import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import type { RemoteCommandProtocol } from "../src/staging/client-go/remotecommand/connect.js";
import { startApart } from "./exec/apart.js";
import { startBareChain, tlsProxyRate } from "./exec/bare.js";
import { type Chain, firstByteMs, open, startChain } from "./exec/chain.js";
import { measure, median, printTable } from "./measure.js";

/**
 * What a remote command costs through the whole chain, client, API server, kubelet, runtime, all on loopback:
 * `npm run bench:exec [-- wholeProcess|latencies|rates|memory]`. In one process, as `kubelab exec` has them on a fresh machine, which
 * is one thread; and, where latencies are measured, apart as well, as `kubelab cluster up` and `kubelab node` have them.
 */
const WARM_UP = 30;
const RUNS = 200;
const BYTES = 256 << 20;
const AT_ONCE = 100;
const ROUNDS = 3;
const PROCESS_RUNS = 7;
const LONG_BYTES = 1 << 30;

const rows: string[][] = [["what", "measured", "asked"]];

/** One after the other, then many at once: p99 is the second slowest, of the middle one of some rounds. */
async function timed(ask: () => Promise<number>): Promise<{ one: number; p99: number; cpuMs: number }> {
  for (let i = 0; i < WARM_UP; i++) await ask();
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let i = 0; i < RUNS; i++) times.push(await ask());
  const { user, system } = process.cpuUsage(before);
  const p99s: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const many = await Promise.all(Array.from({ length: AT_ONCE }, ask));
    p99s.push(many.sort((a, b) => b - a)[Math.floor(AT_ONCE / 100)] ?? Number.NaN);
  }
  return { one: median(times), p99: median(p99s), cpuMs: (user + system) / 1000 / RUNS };
}

/** Beside each, in the same minute: Node's own upgrades over as many hops with nothing of ours in them, in one process. */
async function latencies(): Promise<void> {
  const bare = await startBareChain();
  for (const [layout, start] of [
    ["one process", (release: string) => startChain(false, release)],
    [`apart, ${availableParallelism()} cores`, startApart],
  ] as const) {
    for (const [protocol, release] of [
      ["spdy", "1.25"],
      ["v4", "1.25"],
      ["v5", "1.32"],
    ] as const) {
      await using chain = await start(release);
      const floor = await timed(() => bare.ask());
      const { one, p99, cpuMs } = await timed(() => firstByteMs(chain, protocol));
      const how = `(${protocol}, TLS, ${layout})`;
      const cpu = `CPU of this process ${cpuMs.toFixed(1)} ms; bare ${floor.one.toFixed(1)} ms, CPU ${floor.cpuMs.toFixed(1)} ms`;
      rows.push([`exec -- true, median ${how}`, `${one.toFixed(1)} ms`, `12 ms (${cpu})`]);
      rows.push([`${AT_ONCE} at once, p99 ${how}`, `${p99.toFixed(0)} ms`, `150 ms (bare ${floor.p99.toFixed(0)} ms)`]);
    }
  }
  bare.close();
}

/** MB/s of a command's output. */
async function outputRate(chain: Chain, protocol: RemoteCommandProtocol, bytes: number): Promise<number> {
  const startMs = performance.now();
  await using session = await open(chain, ["head", "-c", String(bytes), "/dev/zero"], protocol);
  let received = 0;
  for await (const piece of session.stdout ?? []) received += piece.length;
  await session.status;
  if (received !== bytes) throw new Error(`${received} bytes came, not ${bytes}`);
  return bytes / 1e6 / ((performance.now() - startMs) / 1000);
}

async function rates(): Promise<void> {
  for (const [plain, bare] of [
    [true, 0],
    [false, await tlsProxyRate(2, BYTES)],
  ] as const) {
    for (const [protocol, asked] of [
      ["v4", 400],
      ["spdy", 250],
    ] as const) {
      await using chain = await startChain(plain, "1.25");
      await outputRate(chain, protocol, BYTES / 8);
      const rate = Math.max(await outputRate(chain, protocol, BYTES), await outputRate(chain, protocol, BYTES));
      const [how, want] = plain
        ? ["plain HTTP", `${asked} MB/s`]
        : ["TLS", `${(0.6 * bare).toFixed(0)} MB/s (0.6 x ${bare.toFixed(0)} of bare TLS proxies)`];
      rows.push([`stdout over ${protocol === "spdy" ? "SPDY" : "WebSocket"}, ${how}`, `${rate.toFixed(0)} MB/s`, want]);
    }
  }
}

/** The most memory that the process held while a gigabyte went through, above what it held before. */
async function memory(): Promise<void> {
  await using chain = await startChain(false, "1.25");
  await outputRate(chain, "spdy", BYTES / 8);
  const before = process.memoryUsage().rss;
  let peak = before;
  await using session = await open(chain, ["head", "-c", String(LONG_BYTES), "/dev/zero"], "spdy");
  let received = 0;
  for await (const piece of session.stdout ?? []) {
    received += piece.length;
    // A reader who is slower than everybody before it.
    if (received % (1 << 22) < piece.length) {
      peak = Math.max(peak, process.memoryUsage().rss);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
  rows.push([
    "1 GiB to a slow reader: memory of all four, grown by",
    `${((peak - before) / 1e6).toFixed(0)} MB`,
    "bounded",
  ]);
}

/** Facts of a trace that end a stage: how far a fresh machine is. */
const STAGES: readonly (readonly [stage: string, ends: RegExp])[] = [
  ["program and control plane", /"kubelab exec on embedded/],
  ["the kubelet's identity", /"Test the new identity/],
  ["its server, its node", /Register node /],
  ["Ready, the pod bound", /"syncPod default/],
  ["sandbox, image, container", /"Started container/],
  ["exec", /"the remote command"/],
];

async function wholeProcess(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "kubelab-bench-"));
  const env = { HOME: home, XDG_STATE_HOME: join(home, "state") };
  const command = ["dist/cli.js", "exec", "nettool"];
  const times: number[] = [];
  const nodes: number[] = [];
  for (let i = 0; i < PROCESS_RUNS; i++) {
    times.push((await measure([...command, "--", "ls"], env)).wallMs);
    nodes.push((await measure(["-e", "0"], env)).wallMs);
  }
  const [time, node] = [median(times), median(nodes)];
  const beside = `0.8 s (node -e 0 beside: ${node.toFixed(0)} ms; ${(time / node).toFixed(1)} x)`;
  rows.push(["kubelab exec nettool -- ls, whole process, median", `${(time / 1000).toFixed(2)} s`, beside]);
  const file = join(home, "trace.ndjson");
  const { startedMs, wallMs } = await measure([...command, "-o", file, "--", "ls"], env);
  const facts = readFileSync(file, "utf8").trimEnd().split("\n");
  let fromMs = startedMs;
  for (const [stage, ends] of STAGES) {
    const line = facts.find((fact) => ends.test(fact));
    if (line === undefined) continue;
    const { atMs } = JSON.parse(line) as { readonly atMs: number };
    rows.push([`  once, and traced: ${stage}`, `${(atMs - fromMs).toFixed(0)} ms`, ""]);
    fromMs = atMs;
  }
  rows.push(["  once, and traced: the end", `${(startedMs + wallMs - fromMs).toFixed(0)} ms`, ""]);
  rmSync(home, { recursive: true, force: true });
}

const only = process.argv[2];
const parts = { wholeProcess, latencies, rates, memory };
for (const [name, part] of Object.entries(parts)) if (only === undefined || only === name) await part();
printTable(rows);
process.stdout.write(
  `load of this machine: ${loadavg()
    .map((one) => one.toFixed(1))
    .join(" ")}\n`,
);
