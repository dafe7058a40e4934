import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Socket, connect as tcpConnect } from "node:net";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer, connect as tlsConnect } from "node:tls";
import { connectStreams, type StreamClient, streamTls } from "../src/commands/exec/connect.js";
import { streamQuery } from "../src/commands/exec/run-exec.js";
import { startTwoServers, type TwoServers } from "../src/commands/exec/two-servers.js";
import { createCriClient } from "../src/kubelet/cri/create-cri-client.js";
import { createApiServerCertificate, createAuthority } from "../src/pki/authority.js";
import { startRuntime } from "../src/runtime/start.js";
import { connectRemoteCommand, type RemoteCommandProtocol } from "../src/streaming/remote-command/connect.js";
import type { RemoteCommandClientSession } from "../src/streaming/remote-command/session.js";
import { Trace } from "../src/trace/trace.js";
import { SystemClock } from "../src/util/clock.js";
import { SystemRandom } from "../src/util/random.js";
import { measure, median, printTable } from "./measure.js";

/**
 * What a remote command costs through the whole chain, client, API server, kubelet, runtime, all on loopback and all in
 * this process: `npm run bench:exec`.
 */
const WARM_UP = 30;
const RUNS = 200;
const BYTES = 256 << 20;
const AT_ONCE = 100;
const PROCESS_RUNS = 7;
const LONG_BYTES = 1 << 30;

const clock = new SystemClock();
const random = new SystemRandom();
const trace = new Trace(clock);
const never = new AbortController().signal;
const rows: string[][] = [["what", "measured", "asked"]];

interface Chain extends AsyncDisposable {
  readonly servers: TwoServers;
  readonly client: StreamClient;
}

async function startChain(plainHttp: boolean, kubeVersion: string): Promise<Chain> {
  const runtime = await startRuntime({ clock, random, trace });
  const containers = [{ name: "c", image: "nettool" }];
  runtime.control.runPod({ name: "tool", namespace: "default", uid: "u1", containers });
  const cri = await createCriClient(runtime.endpoint, { clock, trace, actor: "kubelet" }, {}, never);
  const options = { kubeVersion, apiServerPort: 0, kubeletPort: 0, plainHttp };
  const servers = await startTwoServers({ clock, random, trace, cri }, options, never);
  const close = async () => {
    await servers[Symbol.asyncDispose]();
    await cri.close();
    await runtime.close();
  };
  const config = { ...servers.controlPlane.admin, server: servers.url };
  const client = { config, clock, random, trace, story: undefined, tls: streamTls(config) };
  return { servers, client, [Symbol.asyncDispose]: close };
}

async function open({ client }: Chain, words: readonly string[], protocol: RemoteCommandProtocol) {
  const options = { stdin: false, stdout: true, stderr: true, tty: false };
  const path = `/api/v1/namespaces/default/pods/tool/exec?${streamQuery("c", options, words)}`;
  return connectStreams<RemoteCommandClientSession>(
    client,
    path,
    [
      {
        method: protocol === "spdy" ? "POST" : "GET",
        name: protocol,
        agreed: () => "",
        async connect({ url, headers, tls }) {
          const how = { options, clock, protocols: [protocol], headers, tls };
          const { session, refused } = await connectRemoteCommand(url, how, never);
          if (session !== undefined) return { outcome: "connected", value: session };
          const [first] = refused;
          if (first === undefined) throw new Error("no answer");
          return first.refusal;
        },
      },
    ],
    never,
  );
}

/** ms from asking to the first byte of the status: `true` says nothing else. */
async function firstByteMs(chain: Chain, protocol: RemoteCommandProtocol): Promise<number> {
  const startMs = performance.now();
  await using session = await open(chain, ["true"], protocol);
  await session.status;
  return performance.now() - startMs;
}

async function latencies(): Promise<void> {
  for (const [protocol, release] of [
    ["spdy", "1.25"],
    ["v4", "1.25"],
    ["v5", "1.32"],
  ] as const) {
    await using chain = await startChain(false, release);
    for (let i = 0; i < WARM_UP; i++) await firstByteMs(chain, protocol);
    const times: number[] = [];
    for (let i = 0; i < RUNS; i++) times.push(await firstByteMs(chain, protocol));
    rows.push([`exec -- true, to its end, median (${protocol}, TLS)`, `${median(times).toFixed(1)} ms`, "12 ms"]);
    const many = await Promise.all(Array.from({ length: AT_ONCE }, () => firstByteMs(chain, protocol)));
    const [p99 = 0] = many.sort((a, b) => b - a).slice(Math.floor(AT_ONCE / 100));
    rows.push([`${AT_ONCE} at once, p99 (${protocol}, TLS)`, `${p99.toFixed(0)} ms`, "150 ms"]);
  }
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
    [false, await tlsProxyRate(2)],
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

/** MB/s through so many proxies in this process that do nothing but end TLS on one side and begin it on the other. */
async function tlsProxyRate(proxies: number): Promise<number> {
  const deps = { clock, random };
  const ca = await createAuthority(deps, { commonName: "bench", keyType: "ec" });
  const { certificatePem: cert, privateKeyPem: key } = await createApiServerCertificate(ca, deps, {});
  const source = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    pour(socket, BYTES);
  });
  const servers = [source];
  let port = await listen(source);
  // The last hop, to the runtime, has no TLS; as in the chain.
  for (let i = 0; i < proxies; i++) {
    const [to, isFirst] = [port, i === 0];
    const proxy = createTlsServer({ cert, key }, (client) => {
      const up = isFirst
        ? tcpConnect(to, "127.0.0.1")
        : tlsConnect({ port: to, host: "127.0.0.1", rejectUnauthorized: false });
      for (const one of [client, up]) one.on("error", () => one.destroy());
      client.pipe(up).pipe(client);
    });
    servers.push(proxy);
    port = await listen(proxy);
  }
  const startMs = performance.now();
  const client = tlsConnect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  let received = 0;
  for await (const piece of client) received += (piece as Buffer).length;
  const rate = received / 1e6 / ((performance.now() - startMs) / 1000);
  for (const server of servers) server.close();
  return rate;
}

function pour(socket: Socket, bytes: number): void {
  const piece = Buffer.alloc(65_536);
  let left = bytes;
  const more = () => {
    while (left > 0) {
      left -= piece.length;
      if (!socket.write(piece)) return void socket.once("drain", more);
    }
    socket.end();
  };
  more();
}

function listen(server: ReturnType<typeof createServer>): Promise<number> {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)));
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

async function wholeProcess(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "kubelab-bench-"));
  const env = { HOME: home, XDG_STATE_HOME: join(home, "state") };
  const times: number[] = [];
  const nodes: number[] = [];
  for (let i = 0; i < PROCESS_RUNS; i++) {
    times.push((await measure(["dist/cli.js", "exec", "nettool", "--", "ls"], env)).wallMs);
    nodes.push((await measure(["-e", "0"], env)).wallMs);
  }
  rmSync(home, { recursive: true, force: true });
  const beside = `0.8 s (node -e 0 beside: ${median(nodes).toFixed(0)} ms)`;
  rows.push(["kubelab exec nettool -- ls, whole process, median", `${(median(times) / 1000).toFixed(2)} s`, beside]);
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
