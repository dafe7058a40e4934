import assert from "node:assert/strict";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import * as grpc from "@grpc/grpc-js";
import type { V1Probe } from "@kubernetes/client-node";
import { afterEach, test } from "vitest";
import { RuntimeCallError } from "../../../src/kubelet/kuberuntime/kube-runtime.js";
import { NetworkDialer, type ProbeDialer, RefusingDialer } from "../../../src/kubelet/prober/probe-dialer.js";
import { Prober, type ProberDeps } from "../../../src/kubelet/prober/prober.js";
import type { Wire } from "../../../src/staging/apimachinery/wire.js";
import { rpcFailure } from "../../../src/staging/cri/grpc/status.js";
import { FakeClock, untilTrue } from "../../support/fake-clock.js";
import { makeAuthority, makeLeaf } from "../../support/https-server.js";
import { RecordedEvents } from "../../support/recorded-events.js";

const SIGNAL = new AbortController().signal;
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    (server as { closeAllConnections?: () => void }).closeAllConnections?.();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

interface Setup {
  readonly dialer?: ProbeDialer;
  readonly clock?: FakeClock;
  readonly run?: ProberDeps["runner"]["runInContainer"];
  readonly container?: object;
}

async function probe(spec: Wire<V1Probe>, { dialer, clock, run, container }: Setup = {}) {
  const recorder = new RecordedEvents();
  const prober = new Prober(
    {
      runner: { runInContainer: run ?? (() => assert.fail("no exec probe")) },
      dialer: dialer ?? new NetworkDialer(),
      recorder,
      clock: clock ?? new FakeClock(),
    },
    { kubeVersion: "1.25" },
  );
  const subject = { name: "app", livenessProbe: spec, ...container };
  const metadata = { name: "p", namespace: "ns", uid: "u" };
  const pod = { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [subject] }, status: {} };
  const status = { podIP: "127.0.0.1" };
  const done = prober.probe({ type: "liveness", pod, status, container: subject, apiContainerId: "test://c1" }, SIGNAL);
  return { result: await done, events: recorder.lines, recorder };
}

function httpServer(listener: RequestListener): Promise<number> {
  return listening(createHttpServer(listener));
}

const answers: readonly (readonly [string, number, Record<string, string>, string | undefined, string?])[] = [
  ["200", 200, {}, "success"],
  ["204", 204, {}, "success"],
  ["404", 404, {}, "failure", "Warning Unhealthy Liveness probe failed: HTTP probe failed with statuscode: 404"],
  ["500", 500, {}, "failure", "Warning Unhealthy Liveness probe failed: HTTP probe failed with statuscode: 500"],
  [
    "a redirect to elsewhere",
    302,
    { location: "http://elsewhere.invalid/" },
    "success",
    "Warning ProbeWarning Liveness probe warning: Probe terminated redirects, Response body: body",
  ],
];
for (const [name, code, headers, want, event] of answers) {
  test(`http probe: ${name} is ${want}`, async () => {
    const port = await httpServer((_, response) => response.writeHead(code, headers).end("body"));
    const { result, events, recorder } = await probe({ httpGet: { port } });
    assert.equal(result, want);
    assert.deepEqual(events, event === undefined ? [] : [event]);
    if (event !== undefined) assert.deepEqual(recorder.fieldPaths, ["spec.containers{app}"]);
  });
}

test("http probe: path, query, headers and user agent as upstream sends them", async () => {
  const seen: unknown[] = [];
  const port = await httpServer(({ method, url, headers }, response) => {
    seen.push([method, url, headers.host, headers["user-agent"], headers.accept, headers["x-a"], headers.connection]);
    response.end();
  });
  const httpHeaders = [
    { name: "X-A", value: "1" },
    { name: "Host", value: "web.example" },
  ];
  await probe({ httpGet: { port, path: "/health?deep=1", httpHeaders } });
  assert.deepEqual(seen, [["GET", "/health?deep=1", "web.example", "kube-probe/1.25", "*/*", "1", "close"]]);
});

test("http probe: a redirect within the host is followed, but not for ever", async () => {
  const port = await httpServer(({ url }, response) =>
    url === "/end" ? response.end("ok") : response.writeHead(302, { location: url === "/" ? "/end" : "/loop" }).end(),
  );
  assert.equal((await probe({ httpGet: { port, path: "/" } })).result, "success");
  const { result, events } = await probe({ httpGet: { port, path: "/loop" } });
  assert.equal(result, "failure");
  assert.match(events[0] ?? "", /stopped after 10 redirects$/);
});

test("http probe: the port is closed, or the server hangs up", async () => {
  const server = createTcpServer((socket) => socket.destroy());
  const port = await listening(server);
  const hung = await probe({ httpGet: { port } });
  assert.match(hung.events[0] ?? "", /^Warning Unhealthy Liveness probe failed: Get "http:\/\/127.0.0.1:\d+\/": EOF/);
  await new Promise((resolve) => server.close(resolve));
  const { events } = await probe({ httpGet: { port } });
  const refused = `Get "http://127.0.0.1:${port}/": dial tcp 127.0.0.1:${port}: connect: connection refused`;
  assert.deepEqual(events, [`Warning Unhealthy Liveness probe failed: ${refused}`]);
});

test("http probe: too slow", async () => {
  const clock = new FakeClock();
  const port = await httpServer(async () => clock.advance(2_000));
  const { events } = await probe({ httpGet: { port }, timeoutSeconds: 2 }, { clock });
  const why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
  assert.deepEqual(events, [`Warning Unhealthy Liveness probe failed: Get "http://127.0.0.1:${port}/": ${why}`]);
  assert.equal(clock.sleeping, 0);
});

test("https probe: any certificate will do", async () => {
  const { keyPem, certificatePem } = await makeLeaf(await makeAuthority());
  const port = await listening(
    createHttpsServer({ key: keyPem, cert: certificatePem }, (_, response) => response.end("ok")),
  );
  assert.equal((await probe({ httpGet: { port, scheme: "HTTPS" } })).result, "success");
});

test("tcp probe: open, refused, and by the name of a port", async () => {
  const server = createTcpServer((socket) => socket.end());
  const port = await listening(server);
  assert.equal((await probe({ tcpSocket: { port } })).result, "success");
  const container = { ports: [{ name: "web", containerPort: port }] };
  assert.equal((await probe({ tcpSocket: { port: "web" } }, { container })).result, "success");
  assert.equal((await probe({ tcpSocket: { port: String(port) } })).result, "success");
  await new Promise((resolve) => server.close(resolve));
  assert.deepEqual((await probe({ tcpSocket: { port } })).events, [
    `Warning Unhealthy Liveness probe failed: dial tcp 127.0.0.1:${port}: connect: connection refused`,
  ]);
});

test("probes dial only addresses of this machine by default", async () => {
  const spec = { tcpSocket: { port: 80, host: "192.0.2.1" } };
  const want = "dial tcp 192.0.2.1:80: this kubelet dials only this machine and the pods of its node";
  assert.deepEqual((await probe(spec)).events, [`Warning Unhealthy Liveness probe failed: ${want}`]);
  const own = await probe({ tcpSocket: { port: 80 } }, { dialer: new RefusingDialer() });
  assert.equal(own.result, "failure");
});

const errored: readonly (readonly [string, Wire<V1Probe>, string])[] = [
  ["a port that has no such name", { tcpSocket: { port: "web" } }, 'strconv.Atoi: parsing "web": invalid syntax'],
  ["an invalid port", { tcpSocket: { port: 70_000 } }, "invalid port number: 70000"],
  ["nothing to do", {}, "missing probe handler for p_ns(u):app"],
];
for (const [name, spec, why] of errored) {
  test(`probe: ${name} gives no result`, async () => {
    const { result, events } = await probe(spec);
    assert.equal(result, undefined);
    assert.deepEqual(events, [`Warning Unhealthy Liveness probe errored: ${why}`]);
  });
}

test("exec probe: the command's exit code decides, its output tells", async () => {
  const calls: unknown[] = [];
  const runner = (exitCode: number) => async (id: string, cmd: readonly string[], timeoutMs: number) => {
    calls.push([id, cmd, timeoutMs]);
    return { exitCode, output: Buffer.from("said so") };
  };
  const spec = { exec: { command: ["test", "$(WHAT)", "$(ELSE)"] }, timeoutSeconds: 5 };
  const container = { env: [{ name: "WHAT", value: "thing" }] };
  assert.equal((await probe(spec, { run: runner(0), container })).result, "success");
  const { result, events } = await probe(spec, { run: runner(1), container });
  assert.equal(result, "failure");
  assert.deepEqual(events, ["Warning Unhealthy Liveness probe failed: said so"]);
  assert.deepEqual(calls[0], ["c1", ["test", "thing", "$(ELSE)"], 5_000]);
});

test("exec probe: a timeout is a failure; a refusal of the runtime is retried three times and gives no result", async () => {
  const failure = { ...rpcFailure("DeadlineExceeded", ""), text: 'command "sleep" timed out' };
  const slow = await probe(
    { exec: { command: ["sleep"] } },
    { run: () => Promise.reject(new RuntimeCallError(failure)) },
  );
  assert.equal(slow.result, "failure");
  assert.deepEqual(slow.events, ['Warning Unhealthy Liveness probe failed: command "sleep" timed out']);
  let tries = 0;
  const run = () => {
    tries++;
    return Promise.reject(new RuntimeCallError(rpcFailure("Unknown", "no such container")));
  };
  const { result, events } = await probe({ exec: { command: ["true"] } }, { run });
  assert.equal(result, undefined);
  assert.equal(tries, 3);
  assert.deepEqual(events, [
    "Warning Unhealthy Liveness probe errored: rpc error: code = Unknown desc = no such container",
  ]);
});

const identity = (bytes: Buffer) => bytes;
const CHECK = {
  path: "/grpc.health.v1.Health/Check",
  requestStream: false,
  responseStream: false,
  requestSerialize: identity,
  requestDeserialize: identity,
  responseSerialize: identity,
  responseDeserialize: identity,
} as const;

async function grpcServer(check?: grpc.handleUnaryCall<Buffer, Buffer>): Promise<number> {
  const server = new grpc.Server();
  if (check !== undefined) server.addService({ check: CHECK }, { check });
  closing.push(() => server.forceShutdown());
  return new Promise((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    ),
  );
}

/** Field 1, varint. */
const healthy = (status: number) => Buffer.from([8, status]);
const healths: readonly (readonly [string, grpc.handleUnaryCall<Buffer, Buffer> | undefined, RegExp | undefined])[] = [
  ["serving", (_, done) => done(null, healthy(1)), undefined],
  ["not serving", (_, done) => done(null, healthy(2)), /service unhealthy \(responded with "NOT_SERVING"\)$/],
  ["unknown", (_, done) => done(null, Buffer.alloc(0)), /service unhealthy \(responded with "UNKNOWN"\)$/],
  [
    "no health service",
    undefined,
    /error: this server does not implement the grpc health protocol \(grpc.health.v1.Health\)/,
  ],
  [
    "an error",
    (_, done) => done({ code: grpc.status.NOT_FOUND, details: "unknown service" }),
    /error: health rpc probe failed: rpc error: code = NotFound desc = unknown service$/,
  ],
];
for (const [name, check, want] of healths) {
  test(`grpc probe: ${name}`, async () => {
    const port = await grpcServer(check);
    const { result, events } = await probe({ grpc: { port } });
    assert.equal(result, want === undefined ? "success" : "failure");
    if (want !== undefined) assert.match(events[0] ?? "", want);
  });
}

test("grpc probe: checks the service in the spec", async () => {
  const asked: string[] = [];
  const port = await grpcServer((call, done) => {
    asked.push(call.request.toString("hex"));
    done(null, healthy(1));
  });
  await probe({ grpc: { port, service: "ab" } });
  assert.deepEqual(asked, ["0a026162"]);
});

test("grpc probe: a closed port until the timeout; a missing answer", async () => {
  const server = createTcpServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  const clock = new FakeClock();
  const trying = probe({ grpc: { port }, timeoutSeconds: 2 }, { clock });
  await untilTrue(() => clock.sleeping >= 2);
  await clock.advance(1_000);
  await untilTrue(() => clock.sleeping >= 2);
  await clock.advance(1_000);
  const connect = `timeout: failed to connect service "127.0.0.1:${port}" within 2s: context deadline exceeded`;
  assert.deepEqual((await trying).events, [`Warning Unhealthy Liveness probe failed: ${connect}`]);
  const silent = await grpcServer(() => void clock.advance(2_000));
  const { events } = await probe({ grpc: { port: silent }, timeoutSeconds: 2 }, { clock });
  const rpc = "timeout: health rpc did not complete within 2s";
  assert.deepEqual(events, [`Warning Unhealthy Liveness probe failed: ${rpc}`]);
});
