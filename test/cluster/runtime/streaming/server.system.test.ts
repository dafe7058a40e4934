import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { afterEach, beforeEach, test } from "vitest";
import { type RunningRuntime, startRuntime } from "../../../../src/cluster/runtime/start.js";
import { RequestCache } from "../../../../src/cluster/runtime/streaming/request-cache.js";
import { StreamingServer } from "../../../../src/cluster/runtime/streaming/server.js";
import { connectPortForward } from "../../../../src/staging/client-go/portforward/dialer.js";
import {
  connectRemoteCommand,
  type RemoteCommandProtocol,
} from "../../../../src/staging/client-go/remotecommand/connect.js";
import { RUNTIME_SERVICE as R } from "../../../../src/staging/cri/services.js";
import type { ByteReader } from "../../../../src/staging/streaming/bytes.js";
import type {
  RemoteCommandClientSession,
  RemoteCommandOptions,
} from "../../../../src/staging/streaming/remote-command/session.js";
import { Trace } from "../../../../src/trace/trace.js";
import { SystemClock } from "../../../../src/util/clock.js";
import { LabError } from "../../../../src/util/errors.js";
import { SystemRandom } from "../../../../src/util/random.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { CriDriver } from "../cri-driver.js";

const clock = new SystemClock();
/** A new signal for each connection. */
const newSignal = () => new AbortController().signal;
let runtime: RunningRuntime;
let cri: CriDriver;

beforeEach(async () => {
  const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
  runtime = await startRuntime({ ...deps, images: ["busybox", "nginx"], pullMs: 0 });
  cri = new CriDriver(runtime.endpoint, "busybox");
});
afterEach(async () => {
  await cri.close();
  await runtime.close();
});

async function execUrl(containerId: string, cmd: readonly string[], options: Partial<RemoteCommandOptions> = {}) {
  const streams = { stdin: false, stdout: true, stderr: options.tty !== true, tty: false, ...options };
  return (await cri.ok(R.exec, { containerId, cmd, ...streams })).url;
}

async function connect(
  url: string,
  protocol: RemoteCommandProtocol,
  options: Partial<RemoteCommandOptions> = {},
): Promise<RemoteCommandClientSession> {
  const all = { stdin: false, stdout: true, stderr: options.tty !== true, tty: false, ...options };
  const answer = await connectRemoteCommand(url, { options: all, clock, protocol }, newSignal());
  assert.ok(answer.outcome === "connected");
  return answer.session;
}

async function textOf(reader: ByteReader | undefined): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of reader ?? []) parts.push(part);
  return Buffer.concat(parts).toString();
}

const codeOf = async ({ status }: RemoteCommandClientSession) => (await status).details?.causes?.[0]?.message ?? "0";

for (const protocol of ["spdy", "v4", "v4-base64"] as const) {
  test(`exec over ${protocol}: both outputs and the exit code`, async () => {
    const containerId = await cri.run();
    const cmd = ["sh", "-c", "echo out; echo err >&2; exit 3"];
    await using session = await connect(await execUrl(containerId, cmd), protocol);
    const [out, err, code] = await Promise.all([textOf(session.stdout), textOf(session.stderr), codeOf(session)]);
    assert.deepEqual([out, err, code], ["out\n", "err\n", "3"]);
  });

  test(`exec over ${protocol}: a shell on a terminal, of the client's size`, async () => {
    const containerId = await cri.run();
    const options = { stdin: true, tty: true };
    await using session = await connect(await execUrl(containerId, ["sh"], options), protocol, options);
    await session.resize({ width: 77, height: 11 });
    await session.stdin?.write(Buffer.from("stty size; exit 4\r"));
    const [out, code] = await Promise.all([textOf(session.stdout), codeOf(session)]);
    assert.match(out, /11 77\r\n/);
    assert.equal(code, "4");
  });

  test(`exec over ${protocol}: ten MB arrive complete, both ways`, async () => {
    const containerId = await cri.run();
    const options = { stdin: true };
    const cmd = ["head", "-c", "10000000"];
    await using session = await connect(await execUrl(containerId, cmd, options), protocol, options);
    const bytes = Buffer.alloc(100_000, "0123456789");
    const typing = (async () => {
      for (let count = 0; count < 100; count++) await session.stdin?.write(bytes);
    })();
    const [out] = await Promise.all([textOf(session.stdout), typing, session.status]);
    assert.equal(out, "0123456789".repeat(1_000_000));
  });
}

test("exec over SPDY: the end of stdin reaches the command", async () => {
  const containerId = await cri.run();
  const options = { stdin: true };
  await using session = await connect(
    await execUrl(containerId, ["sh", "-c", "cat; echo end"], options),
    "spdy",
    options,
  );
  await session.stdin?.write(Buffer.from("x\n"));
  await session.stdin?.end();
  assert.equal(await textOf(session.stdout), "x\nend\n");
});

test("200 execs at once", async () => {
  const containerId = await cri.run();
  const outputs = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const url = await execUrl(containerId, ["sh", "-c", `echo ${index}; exit ${index % 5}`]);
      await using session = await connect(url, index % 2 === 0 ? "spdy" : "v4");
      const [out, code] = await Promise.all([textOf(session.stdout), codeOf(session)]);
      return `${out.trim()} ${code}`;
    }),
  );
  assert.deepEqual(
    outputs,
    Array.from({ length: 200 }, (_, index) => `${index} ${index % 5}`),
  );
});

for (const protocol of ["spdy", "v4"] as const) {
  test(`exec over ${protocol}: a command that writes ends when its client disconnects`, async () => {
    const containerId = await cri.run();
    const session = await connect(await execUrl(containerId, ["yes"]), protocol);
    for await (const bytes of session.stdout ?? []) {
      assert.ok(bytes.length > 0);
      break;
    }
    await session.close();
    const { stdout } = await cri.ok(R.execSync, {
      containerId,
      cmd: ["sh", "-c", "until ! ps | grep -q 'yes$'; do :; done; ps"],
    });
    assert.doesNotMatch(Buffer.from(stdout).toString(), / yes$/m);
  });

  test(`attach over ${protocol}: input, output, and Success at the container's end`, async () => {
    const containerId = await cri.run({
      command: ["sh", "-c", "read x; echo got $x; exit 9"],
      stdin: true,
      stdinOnce: true,
    });
    const { url } = await cri.ok(R.attach, { containerId, stdin: true, stdout: true, stderr: true });
    await using session = await connect(url, protocol, { stdin: true });
    await session.stdin?.write(Buffer.from("this\n"));
    assert.equal(await textOf(session.stdout), "got this\n");
    assert.equal((await session.status).status, "Success");
  });
}

test("port-forward over SPDY: several connections, and one to a port without a listener", async () => {
  const { sandboxId, config } = await cri.runSandbox();
  await cri.run({ image: { image: "nginx" }, command: [] }, { sandboxId, config });
  const { url } = await cri.ok(R.portForward, { podSandboxId: sandboxId, port: [] });
  const answer = await connectPortForward(url, { clock, protocol: "spdy" }, newSignal());
  assert.ok(answer.outcome === "connected");
  await using session = answer.session;
  const statusLineOf = async (port: number) => {
    const connection = await session.connect(port);
    await connection.write(Buffer.from("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).catch(() => {});
    const text = await textOf(connection.incoming);
    await connection.end();
    return (await connection.failure) ?? text.split("\r\n")[0] ?? "";
  };
  // The container runs before nginx listens.
  while ((await statusLineOf(80)).includes("connection refused"));
  const answers = await Promise.all([80, 80, 81].map(statusLineOf));
  assert.deepEqual(answers.slice(0, 2), ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK"]);
  assert.match(answers[2] ?? "", /^error forwarding port 81 to pod .*: connection refused/);
});

/** An answer that is not an upgrade. */
function ask(
  url: string,
  method = "GET",
): Promise<{ status: number | undefined; text: string; type: string | undefined }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, agent: false }, async (response) => {
      let text = "";
      for await (const part of response) text += part;
      resolve({ status: response.statusCode, text, type: response.headers["content-type"] });
    });
    request.on("error", reject);
    request.end();
  });
}

test("the server's other answers are upstream's", async () => {
  const containerId = await cri.run();
  const url = await execUrl(containerId, ["true"]);
  const base = new URL(url).origin;
  const type = "text/plain; charset=utf-8";
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/exec\/[\w-]{8}$/);
  assert.deepEqual(await ask(base), { status: 404, text: "404: Page Not Found", type });
  assert.deepEqual(await ask(`${base}/exec`), { status: 404, text: "404: Page Not Found", type });
  assert.deepEqual(await ask(`${base}/exec/a/b`), { status: 404, text: "404: Page Not Found", type });
  assert.deepEqual(await ask(`${base}/exec/abc`), { status: 404, text: "404 page not found\n", type });
  assert.deepEqual(await ask(url, "PUT"), { status: 405, text: "405: Method Not Allowed", type });
  // An exec token is invalid for attach, and the attempt uses it up.
  assert.equal((await ask(url.replace("exec", "attach"))).status, 404);
  assert.equal((await ask(url)).status, 404);
});

test("a request without an upgrade is refused, and uses the token up", async () => {
  const url = await execUrl(await cri.run(), ["true"]);
  assert.equal((await ask(url)).status, 400);
  assert.equal((await ask(url)).status, 404);
});

for (const protocol of ["spdy", "v4"] as const) {
  test(`a URL is valid once, over ${protocol} as well`, async () => {
    const url = await execUrl(await cri.run(), ["true"]);
    await using session = await connect(url, protocol);
    await session.status;
    const options = { stdin: false, stdout: true, stderr: true, tty: false };
    const again = await connectRemoteCommand(url, { options, clock, protocol }, newSignal());
    assert.ok(again.outcome === "refused");
    assert.equal(again.status, 404);
    assert.equal(again.body.toString(), "404 page not found\n");
  });

  test(`a container that ends before the client connects, over ${protocol}`, async () => {
    const containerId = await cri.run();
    const [exec, attach] = [
      await execUrl(containerId, ["true"]),
      (await cri.ok(R.attach, { containerId, stdout: true, stderr: true })).url,
    ];
    await cri.ok(R.stopContainer, { containerId, timeout: 0n });
    await using first = await connect(exec, protocol);
    assert.equal(
      (await first.status).message,
      "Internal error occurred: error executing command in container: failed to exec in container: container is in CONTAINER_EXITED state",
    );
    await using second = await connect(attach, protocol);
    assert.equal(
      (await second.status).message,
      "Internal error occurred: error attaching to container: container is in CONTAINER_EXITED state",
    );
  });

  test(`closing the runtime closes streams over ${protocol}`, async () => {
    const containerId = await cri.run();
    const session = await connect(await execUrl(containerId, ["sleep", "100"]), protocol);
    await runtime.close();
    await assert.rejects(session.status, { name: "StreamError" });
    await session.close();
  });
}

for (const protocol of ["spdy", "v4"] as const) {
  for (const kind of ["exec", "attach"] as const) {
    test(`${kind} over ${protocol}: a broken connection of a terminal causes no error`, async () => {
      const containerId = await cri.run({ command: ["sh"], stdin: true, tty: true });
      const streams = { containerId, stdin: true, stdout: true, stderr: false, tty: true };
      const { url } = await (kind === "exec" ? cri.ok(R.exec, { ...streams, cmd: ["sh"] }) : cri.ok(R.attach, streams));
      await using relay = await openRelay(url);
      const session = await connect(relay.url, protocol, { stdin: true, tty: true });
      await session.resize({ width: 80, height: 24 });
      await session.stdin?.write(Buffer.from("echo here\r"));
      for await (const _bytes of session.stdout ?? []) break;
      relay.breakOff();
      await assert.rejects(session.status, { name: "StreamError" });
      await session.close();
      const { stdout } = await cri.ok(R.execSync, { containerId, cmd: ["echo", "on"] });
      assert.equal(Buffer.from(stdout).toString(), "on\n");
    });
  }
}

/** A proxy between a client and the streaming server that can break both connections. */
async function openRelay(url: string) {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const other = createConnection(Number(target.port), target.hostname);
    for (const one of [socket, other]) one.on("error", () => {});
    sockets.add(socket).add(other);
    socket.pipe(other).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const breakOff = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${target.pathname}`,
    breakOff,
    async [Symbol.asyncDispose]() {
      breakOff();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("bytes that are not HTTP cause no error", async () => {
  const containerId = await cri.run();
  const { port } = new URL(await execUrl(containerId, ["true"]));
  const socket = createConnection(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  socket.resume();
  socket.end("\x80\x03\x00\x01 no HTTP at all\r\n\r\n");
  await new Promise((resolve) => socket.once("close", resolve));
  assert.equal(await codeOf(await connect(await execUrl(containerId, ["sh", "-c", "exit 6"]), "spdy")), "6");
});

test("a port in use is reported, and the next call tries it again", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
  await using server = new StreamingServer({ clock, onError: () => {} }, { address });
  const serve = async () => {};
  await assert.rejects(server.urlFor("exec", serve), { name: "LabError", message: /the port is taken/ });
  await new Promise((resolve) => taken.close(resolve));
  assert.ok((await server.urlFor("exec", serve)).startsWith(`http://${address}/exec/`));
  await server.close();
  await assert.rejects(server.urlFor("exec", serve), { name: "RpcError", code: "Unavailable" });
});

test("an address that is not local is refused", async () => {
  const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
  await assert.rejects(startRuntime({ ...deps, streamingAddress: "0.0.0.0:0" }), (error: unknown) => {
    assert.ok(error instanceof LabError);
    assert.equal(error.code, "USAGE");
    return true;
  });
});

test("tokens: valid once, for a minute, at most a thousand at a time", async () => {
  const fake = new FakeClock();
  const cache = new RequestCache<string>(fake);
  const token = cache.insert("a");
  assert.match(token, /^[\w-]{8}$/);
  assert.equal(cache.consume(token), "a");
  assert.equal(cache.consume(token), undefined);
  assert.equal(cache.consume("unknown"), undefined);
  const late = cache.insert("b");
  const all = Array.from({ length: 999 }, (_, index) => cache.insert(String(index)));
  assert.equal(new Set(all).size, 999);
  assert.throws(() => cache.insert("one too many"), {
    name: "RpcError",
    code: "ResourceExhausted",
    message: "maximum number of in-flight requests exceeded",
  });
  await fake.advance(60_000);
  assert.equal(cache.consume(all[0] ?? ""), "0", "a minute is not over yet");
  await fake.advance(1);
  assert.equal(cache.consume(late), undefined);
  cache.insert("room again");
  assert.equal(cache.size, 1);
});
