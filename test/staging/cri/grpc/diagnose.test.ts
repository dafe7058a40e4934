import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { describe, onTestFinished, test } from "vitest";
import { diagnoseEndpoint } from "../../../../src/staging/cri/grpc/diagnose.js";
import { parseEndpoint } from "../../../../src/staging/cri/grpc/endpoint.js";
import { v1alpha2Of } from "../../../../src/staging/cri/grpc/rpc.js";
import { RpcError } from "../../../../src/staging/cri/grpc/status.js";
import { createCriClient } from "../../../../src/staging/cri/remote/create-cri-client.js";
import { RUNTIME_SERVICE } from "../../../../src/staging/cri/services.js";
import { SystemClock } from "../../../../src/util/clock.js";
import { LabError } from "../../../../src/util/errors.js";
import { FakeClock, START_MS, untilTrue } from "../../../support/fake-clock.js";
import { makeAuthority, makeLeaf } from "../../../support/https-server.js";
import { missingPath } from "../../../support/missing-path.js";
import { recordingTrace } from "../../../support/trace.js";
import { openChannel, startRuntime, temporaryFolder, VERSION } from "../support.js";

/** What the learner reads when this endpoint is given. */
async function failureAt(endpoint: string, options: { readonly timePasses?: boolean } = {}): Promise<LabError> {
  const clock = new FakeClock();
  const { trace } = recordingTrace(clock);
  const attempt = createCriClient(endpoint, { clock, trace, actor: "kubelet" }, {}, new AbortController().signal);
  let isOver = false;
  const failure = attempt.then(
    () => assert.fail(`${endpoint} was accepted as a runtime`),
    (error: unknown) => {
      isOver = true;
      return error;
    },
  );
  while (options.timePasses === true && !isOver) await clock.advance(1_000);
  const error = await failure;
  assert.ok(error instanceof LabError, String(error));
  assert.equal(clock.sleeping, 0, "no timer is left");
  return error;
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const UNREACHABLE = "RUNTIME_UNREACHABLE";

const files: readonly (readonly [string, (path: string) => void, RegExp])[] = [
  ["nothing", () => {}, /does not exist: no container runtime has created this socket$/],
  ["a regular file", (path) => writeFileSync(path, ""), /is a regular file, not a socket$/],
  ["a folder", (path) => mkdirSync(path), /is a folder, not a socket$/],
  ["a dangling symbolic link", (path) => symlinkSync(missingPath("x"), path), /is a dangling symbolic link$/],
];
for (const [what, make, message] of files) {
  test(`endpoint failure: ${what} at the path`, async () => {
    const path = join(temporaryFolder(), "x.sock");
    make(path);
    const error = await failureAt(`unix://${path}`);
    assert.equal(error.code, UNREACHABLE);
    assert.match(error.message, message);
    assert.ok(error.message.startsWith(`unix://${path} `));
    assert.ok(error.hint.length > 10);
  });
}

test.skipIf(process.geteuid?.() !== 0)("endpoint failure: permission denied (as user nobody)", async () => {
  const server = await startRuntime({});
  const NOBODY = 65534;
  process.seteuid?.(NOBODY);
  try {
    const error = await failureAt(server.endpoint);
    assert.equal(error.code, UNREACHABLE);
    assert.match(error.message, /cannot be used by this user: permission denied$/);
    assert.match(error.hint, /root/);
  } finally {
    process.seteuid?.(0);
  }
});

test("endpoint failure: a socket file without a server", async () => {
  const { spawnSync } = await import("node:child_process");
  const path = join(temporaryFolder(), "x.sock");
  const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
  spawnSync(process.execPath, ["-e", script]);
  const error = await failureAt(`unix://${path}`);
  assert.match(error.message, /refuses the connection: no server is listening$/);
});

test("endpoint failure: a port without a server, a host that does not exist", async () => {
  const server = createServer();
  const endpoint = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  assert.match((await failureAt(endpoint)).message, /refuses the connection: no server is listening$/);
  assert.match((await failureAt("tcp://no-such-host.invalid:1")).message, /has a host name that cannot be resolved$/);
});

test("endpoint failure: HTTP/1 answers", async () => {
  const error = await failureAt(await listening(createHttpServer((_request, response) => response.end("hello"))));
  assert.equal(error.code, UNREACHABLE);
  assert.match(error.message, /speaks HTTP\/1, not gRPC$/);
});

test("endpoint failure: TLS, from a server that reports it and from one that closes the connection", async () => {
  const ca = await makeAuthority();
  const { keyPem: key, certificatePem: cert } = await makeLeaf(ca);
  const https = await failureAt(await listening(createHttpsServer({ key, cert })));
  assert.match(https.message, /speaks TLS, but a container runtime speaks plain text$/);
  const tls = createTlsServer({ key, cert });
  tls.on("tlsClientError", () => {});
  const strict = await failureAt(await listening(tls));
  assert.match(strict.message, /speaks TLS/);
  // Go's servers close a connection without TLS silently; to TLS they answer, here with an alert.
  const refusal = Buffer.from([0x15, 3, 3, 0, 2, 2, 40]);
  const quiet = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (first: Buffer) => (first[0] === 0x16 ? socket.end(refusal) : socket.destroy()));
  });
  assert.match((await failureAt(await listening(quiet))).message, /speaks TLS/);
});

const others: readonly (readonly [string, () => Server, RegExp, boolean])[] = [
  [
    "closes the connection",
    () => createServer((socket) => void socket.destroy()),
    /closes the connection immediately$/,
    false,
  ],
  [
    "greets in another protocol",
    () => createServer((socket) => void socket.on("error", () => {}).end("SSH-2.0-OpenSSH_9.2\r\n")),
    /does not speak gRPC: it answers "SSH-2\.0-OpenSSH_9\.2"$/,
    false,
  ],
  ["does not answer", () => createServer(() => {}), /accepts connections but does not answer$/, true],
];
for (const [what, make, message, timePasses] of others) {
  test(`endpoint failure: a server that ${what}`, async () => {
    const error = await failureAt(await listening(make()), { timePasses });
    assert.equal(error.code, UNREACHABLE);
    assert.match(error.message, message);
  });
}

test("endpoint failure: the hint for a silent server names a speed that is too high", async () => {
  const url = await listening(createServer(() => {}));
  const failure = { outcome: "timed-out", code: "DeadlineExceeded", message: "", text: "too late" } as const;
  const { signal } = new AbortController();
  for (const [speed, hint] of [
    [999, /check its process/],
    [10_000, /With --speed 10000 a kubelet's two minutes are 12 ms: use a lower speed/],
  ] as const) {
    const error = await diagnoseEndpoint(parseEndpoint(url), failure, new SystemClock(speed), signal);
    assert.match(error.hint, hint);
  }
});

test("endpoint failure: an HTTP/2 server without gRPC", async () => {
  const server = createHttp2Server((_request, response) => {
    response.writeHead(405);
    response.end();
  });
  const error = await failureAt(await listening(server as unknown as Server));
  assert.match(error.message, /does not answer as a container runtime: .*Received HTTP status code 405$/);
});

test("endpoint failure: gRPC, but no container runtime interface", async () => {
  const server = await startRuntime({
    version: () => {
      throw new RpcError("Unimplemented", "unknown service runtime.v1.RuntimeService");
    },
  });
  const error = await failureAt(server.endpoint);
  assert.equal(error.code, UNREACHABLE);
  assert.match(error.message, /speaks gRPC but offers no container runtime interface$/);
  assert.match(error.hint, /disabled_plugins/);
});

describe("a runtime with v1alpha2 only", () => {
  const open = async (kubeVersion: string) => {
    const listPodSandbox = () => ({ items: [] });
    const { endpoint } = await startRuntime({ listPodSandbox }, { criVersion: "v1alpha2" });
    const clock = new FakeClock();
    const { trace, events } = recordingTrace(clock);
    const deps = { clock, trace, actor: "kubelet" } as const;
    const signal = new AbortController().signal;
    return { events, signal, opening: createCriClient(endpoint, deps, { kubeVersion }, signal) };
  };

  test("a kubelet of v1.25 falls back to it", async () => {
    const { opening, events, signal } = await open("1.25");
    await using client = await opening;
    assert.equal(client.version.runtimeName, "fake");
    assert.deepEqual(await client.runtime.listPodSandbox(undefined, signal), { outcome: "ok", value: [] });
    const decisions = events.flatMap((one) => (one.kind === "decision" ? [one.what] : []));
    assert.deepEqual(decisions, ["fall back to CRI v1alpha2 (deprecated)"]);
  });

  test("a kubelet of v1.26 refuses it in upstream's words", async () => {
    const error = await (await open("1.26")).opening.then(() => assert.fail("accepted"), String);
    assert.match(
      error,
      /validate service connection: CRI v1 runtime API is not implemented for endpoint "unix:.*cri\.sock": rpc error: code = Unimplemented desc = unknown service runtime\.v1\.RuntimeService$/,
    );
  });

  test("a runtime with v1 only refuses v1alpha2", async () => {
    const { endpoint } = await startRuntime({}, { criVersion: "v1" });
    const { channel } = openChannel(endpoint);
    const answer = await channel.call(v1alpha2Of(RUNTIME_SERVICE.version), {}, {});
    assert.equal(
      answer.outcome === "unimplemented" && answer.message,
      "unknown service runtime.v1alpha2.RuntimeService",
    );
  });
});

test("endpoint failure: a runtime that hangs", async () => {
  const server = await startRuntime({ version: () => new Promise<never>(() => {}) });
  const error = await failureAt(server.endpoint, { timePasses: true });
  assert.equal(error.code, UNREACHABLE);
  assert.match(error.message, /does not answer as a container runtime: .*DeadlineExceeded.*\(120 s\)$/);
});

const versions = [
  ["a version with an empty field", { ...VERSION, runtimeName: "" }, /not all fields are set in the version/],
  ["another version of the API", { ...VERSION, version: "0.2.0" }, /speaks version 0\.2\.0 of the runtime API/],
] as const;
for (const [what, version, message] of versions) {
  test(`endpoint failure: ${what}`, async () => {
    const server = await startRuntime({ version: () => version });
    const error = await failureAt(server.endpoint);
    assert.equal(error.code, "RUNTIME_FAILED");
    assert.match(error.message, message);
  });
}

test("an abort ends the attempt, also during the diagnosis", async () => {
  const clock = new FakeClock();
  const { trace } = recordingTrace(clock);
  const stop = new AbortController();
  const endpoint = await listening(createServer(() => {}));
  const attempt = createCriClient(endpoint, { clock, trace, actor: "kubelet" }, {}, stop.signal);
  const rejected = assert.rejects(attempt, { message: "enough" });
  await clock.advance(5_000); // no settings: the diagnosis starts
  await clock.advance(100);
  stop.abort(new Error("enough"));
  await rejected;
  assert.equal(clock.sleeping, 0);
});

test("on a fast clock an endpoint still has five seconds of real time to answer", async () => {
  const clock = Object.assign(new FakeClock(), { speed: 10 });
  const { trace } = recordingTrace(clock);
  const stop = new AbortController();
  const asked: number[] = [];
  const endpoint = await listening(createServer(() => asked.push(clock.now())));
  const attempt = createCriClient(endpoint, { clock, trace, actor: "kubelet" }, {}, stop.signal);
  const rejected = assert.rejects(attempt, { message: "enough" });
  await clock.advance(49_000);
  await untilTrue(() => asked.length === 1);
  await clock.advance(1_000); // the diagnosis starts, on a connection of its own
  await untilTrue(() => asked.length === 2);
  assert.equal(asked[1], START_MS + 50_000);
  stop.abort(new Error("enough"));
  await rejected;
});
