import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, test } from "vitest";
import { type RunningRuntime, startRuntime } from "../../src/cluster/runtime/start.js";
import { podPath } from "../../src/commands/streams/pod.js";
import { runRemote } from "../../src/commands/streams/remote.js";
import type { RemoteCommandProtocol } from "../../src/staging/client-go/remotecommand/connect.js";
import { execUrl } from "../../src/staging/client-go/remotecommand/exec-url.js";
import type { RemoteCommandRequest } from "../../src/staging/client-go/remotecommand/executor.js";
import type { RestConfig } from "../../src/staging/client-go/rest/client.js";
import type { StreamClient } from "../../src/staging/client-go/transport/fallback.js";
import { type CriClient, createCriClient } from "../../src/staging/cri/remote/create-cri-client.js";
import type { ProcessStreams } from "../../src/testbed/context.js";
import { type RuntimeServers, startRuntimeServers } from "../../src/testbed/fixtures/runtime-servers.js";
import type { TraceEvent } from "../../src/trace/events.js";
import { SystemClock } from "../../src/util/clock.js";
import { LabError } from "../../src/util/errors.js";
import { SystemRandom } from "../../src/util/random.js";
import { only, recordingTrace } from "../support/trace.js";

const clock = new SystemClock();
const random = new SystemRandom();
const POD = { namespace: "default", name: "tool" };

/** The whole chain in this process: client, API server, kubelet's server, runtime. */
interface Lab extends AsyncDisposable {
  readonly runtime: RunningRuntime;
  readonly cri: CriClient;
  readonly servers: RuntimeServers;
  readonly client: StreamClient;
  readonly events: TraceEvent[];
}

let lab: Lab;
beforeEach(async () => {
  lab = await startLab();
});
afterEach(() => lab[Symbol.asyncDispose]());

async function startLab(): Promise<Lab> {
  const { trace, events } = recordingTrace(clock);
  const { signal } = new AbortController();
  const runtime = await startRuntime({ clock, random, trace });
  runtime.control.runPod({ ...POD, uid: "u1", containers: [{ name: "c", image: "nettool" }] });
  const cri = await createCriClient(runtime.endpoint, { clock, trace, actor: "kubelet" }, {}, signal);
  const options = { kubeVersion: "1.32", apiServerPort: 0, kubeletPort: 0, plainHttp: false };
  const servers = await startRuntimeServers({ clock, random, trace, cri }, options, signal);
  const client = { config: servers.controlPlane.admin, clock, random, trace, story: undefined };
  const close = async () => {
    await servers[Symbol.asyncDispose]();
    await cri.close();
    await runtime.close();
  };
  return { runtime, cri, servers, client, events, [Symbol.asyncDispose]: close };
}

/** Streams of a process; `raw` is the mode of its terminal. */
class Streams implements ProcessStreams {
  readonly stdin: PassThrough & { isTTY?: boolean; setRawMode?: (isRaw: boolean) => unknown };
  readonly stdout: PassThrough & { columns?: number; rows?: number };
  readonly stderr = new PassThrough();
  readonly raw: boolean[] = [];

  constructor(isTerminal = false, stdout: PassThrough = new PassThrough()) {
    this.stdin = new PassThrough();
    this.stdout = stdout;
    if (isTerminal) {
      Object.assign(this.stdin, { isTTY: true, setRawMode: (isRaw: boolean) => this.raw.push(isRaw) });
      Object.assign(this.stdout, { isTTY: true, columns: 100, rows: 30 });
    }
  }

  /** Resolves when stdout has this text, and drops the output before it. */
  async saw(text: string): Promise<void> {
    let seen = "";
    for await (const piece of this.stdout.iterator({ destroyOnReturn: false })) {
      seen += String(piece);
      if (seen.includes(text)) return;
    }
    assert.fail(`the output ended: ${seen}`);
  }
}

type Overrides = Partial<RemoteCommandRequest> & { readonly tty?: boolean; readonly stdin?: boolean };

function request(
  words: readonly string[],
  { tty = false, stdin = tty, ...rest }: Overrides = {},
): RemoteCommandRequest {
  const options = { stdin, stdout: true, stderr: !tty, tty };
  const path = execUrl({ ...POD, subresource: "exec", container: "c", words }, options);
  return { path, options, protocols: ["v5", "spdy"], showsFrames: false, ...rest };
}

const never = () => new AbortController().signal;
const isLabError = (code: string, text: RegExp) => (error: unknown) =>
  error instanceof LabError && error.code === code && text.test(`${error.message}\n${error.hint}`);

async function bytesOf(stream: PassThrough): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

for (const protocol of ["v5", "spdy"] as const satisfies readonly RemoteCommandProtocol[]) {
  test(`${protocol}: every byte comes back as it went`, async () => {
    const streams = new Streams();
    const sent = randomBytes(2_000_000);
    streams.stdin.end(sent);
    const came = bytesOf(streams.stdout);
    const end = await runRemote(lab.client, request(["cat"], { stdin: true, protocols: [protocol] }), streams, never());
    streams.stdout.end();
    assert.equal(end.exitCode, 0);
    assert.equal(Buffer.compare(await came, sent), 0);
  });

  test(`${protocol}: a terminal: keys go there, Ctrl-C too, its size follows, and it is given back`, async () => {
    const streams = new Streams(true);
    const running = runRemote(lab.client, request(["sh"], { tty: true, protocols: [protocol] }), streams, never());
    streams.stdin.write("stty size\r");
    await streams.saw("30 100");
    streams.stdin.write("cat\r");
    await streams.saw("cat");
    streams.stdin.write("word\r");
    // The terminal echoes it first, then the program in it. From here on the program gets Ctrl-C.
    await streams.saw("word\r\nword");
    streams.stdin.write("\x03");
    Object.assign(streams.stdout, { columns: 60, rows: 20 });
    (streams.stdout as EventEmitter).emit("resize");
    // What is typed may overtake the size, which has a stream of its own: there and back first.
    streams.stdin.write("echo o''ne\r");
    await streams.saw("one");
    streams.stdin.write("stty size; exit 9\r");
    await streams.saw("20 60");
    assert.equal((await running).exitCode, 9);
    assert.deepEqual(streams.raw, [true, false]);
  });

  test(`${protocol}: a reader that stops reading blocks the command and fills no memory`, async () => {
    const streams = new Streams(false, new PassThrough({ highWaterMark: 65_536 }));
    const stop = new AbortController();
    const slow = request(["yes"], { protocols: [protocol], showsFrames: true });
    const running = runRemote(lab.client, slow, streams, stop.signal).catch((error: Error) => error.name);
    await streams.saw("y\n");
    // Others go through the same servers meanwhile: the slow one has all the time it needs to fill what there is.
    for (let i = 0; i < 20; i++) {
      const others = new Streams();
      others.stdout.resume();
      await runRemote(lab.client, request(["seq", "1", "2000"]), others, never());
    }
    const received = only(lab.events, "frame").filter(
      ({ channel, direction }) => channel === "stdout" && direction === "received",
    );
    const bytes = received.reduce((sum, { length }) => sum + length, 0);
    assert.ok(bytes < 2_000_000, `${bytes} bytes were taken for a reader who took none`);
    stop.abort();
    assert.equal(await running, "AbortError");
  });
}

const refusals: readonly (readonly [string, (lab: Lab) => RestConfig, string, RegExp])[] = [
  [
    "nobody",
    ({ client: { config } }) => ({ server: config.server, caPem: config.caPem ?? "" }),
    "FORBIDDEN",
    /system:anonymous.* cannot get resource "pods\/exec"/,
  ],
  [
    "a token that nobody knows",
    ({ client: { config } }) => ({ server: config.server, caPem: config.caPem ?? "", token: "no" }),
    "UNAUTHORIZED",
    /401 Unauthorized/,
  ],
  [
    "the CA of another cluster",
    ({ client: { config } }) => ({ ...config, caPem: config.clientCertificatePem ?? "" }),
    "CLUSTER_NOT_TRUSTED",
    /certificate that the expected CA did not sign/,
  ],
  [
    "a port where nobody listens",
    ({ client: { config } }) => ({ ...config, server: "https://127.0.0.1:1" }),
    "CLUSTER_UNREACHABLE",
    /refuses the connection/,
  ],
];
for (const [title, configOf, code, text] of refusals) {
  test(`asked as ${title}`, async () => {
    const client = { ...lab.client, config: configOf(lab) };
    await assert.rejects(runRemote(client, request(["true"]), new Streams(), never()), isLabError(code, text));
  });
}

test("a pod that the kubelet does not know", async () => {
  const none = { ...request(["true"]), path: `${podPath({ ...POD, name: "none" }, "exec")}?stdout=true&command=true` };
  await assert.rejects(
    runRemote(lab.client, none, new Streams(), never()),
    isLabError("REFUSED", /404 pods "none" not found/),
  );
});

for (const [title, kill] of [
  ["the runtime", ({ runtime }: Lab) => runtime.close()],
  ["kubelet and API server", ({ servers }: Lab) => servers[Symbol.asyncDispose]()],
] as const) {
  test(`${title} ends in the middle: an error is printed and the terminal is restored`, async () => {
    const streams = new Streams(true);
    const running = runRemote(lab.client, request(["sh"], { tty: true }), streams, never());
    running.catch(() => {});
    streams.stdin.write("stty size\r");
    await streams.saw("30 100");
    await kill(lab);
    const ended = await running.then(
      ({ problem }) => problem ?? "no problem",
      (error: Error) => error.message,
    );
    assert.match(ended, /broke off|Internal error|connection/);
    assert.deepEqual(streams.raw, [true, false]);
  });
}

test("a client that is killed: its command loses its streams, and nothing is left open", async () => {
  const before = openSockets();
  const stop = new AbortController();
  const streams = new Streams(true);
  const running = runRemote(lab.client, request(["sh"], { tty: true }), streams, stop.signal);
  streams.stdin.write("stty size\r");
  await streams.saw("30 100");
  stop.abort();
  await assert.rejects(running, { name: "AbortError" });
  assert.deepEqual(streams.raw, [true, false]);
  await lab.servers[Symbol.asyncDispose]();
  assert.ok(openSockets() <= before, `${openSockets()} sockets are open, ${before} were before`);
});

test("a closed reader ends the command", async () => {
  const streams = new Streams();
  const running = runRemote(lab.client, request(["yes"]), streams, never());
  await streams.saw("y\n");
  streams.stdout.destroy();
  assert.equal((await running).exitCode, 0);
});

test("200 at once, each with its own bytes", async () => {
  const ends = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const streams = new Streams();
      const { exitCode } = await runRemote(
        lab.client,
        request(["sh", "-c", `echo ${i}; exit ${i % 100}`]),
        streams,
        never(),
      );
      streams.stdout.end();
      return [exitCode, String(await bytesOf(streams.stdout))];
    }),
  );
  assert.deepEqual(
    ends,
    ends.map((_, i) => [i % 100, `${i}\n`]),
  );
}, 60_000);

test("frames show piped input, not input typed at a terminal", async () => {
  const streams = new Streams(true);
  streams.stdout.resume();
  streams.stdin.write("read -s word; exit 3\r");
  streams.stdin.write("hunter2\r");
  const end = await runRemote(lab.client, request(["sh"], { tty: true, showsFrames: true }), streams, never());
  assert.equal(end.exitCode, 3);
  const typed = only(lab.events, "frame").filter(({ channel, length }) => channel === "stdin" && length > 0);
  assert.ok(typed.length > 0);
  assert.ok(typed.every(({ head }) => head === undefined));
});

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
}
