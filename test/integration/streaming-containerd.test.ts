import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, test } from "vitest";
import { NamespaceMode } from "../../src/cri/messages/enums.js";
import { expectOk } from "../../src/cri/status.js";
import type { ByteReader } from "../../src/streaming/bytes.js";
import type { FrameReport } from "../../src/streaming/frame-report.js";
import { connectSpdyPortForward } from "../../src/streaming/port-forward/spdy-client.js";
import type { RemoteCommandClientSession, RemoteCommandOptions } from "../../src/streaming/remote-command/session.js";
import { connectSpdyRemoteCommand } from "../../src/streaming/remote-command/spdy-client.js";
import { exitCodeOf } from "../../src/streaming/remote-command/status-text.js";
import { SystemClock } from "../../src/util/clock.js";
import { BUSYBOX_IMAGE, startContainerd, type TestContainerd } from "../support/containerd.js";
import { suiteNeeding } from "../support/requirements.js";

const { signal } = new AbortController();
const clock = new SystemClock();
const PIPES: RemoteCommandOptions = { stdin: true, stdout: true, stderr: true, tty: false };
const TERMINAL: RemoteCommandOptions = { stdin: true, stdout: true, stderr: false, tty: true };

async function textOf(reader: ByteReader | undefined): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of reader ?? []) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

suiteNeeding(["containerd", "busybox-static", "root"], "streams of a real containerd over SPDY", () => {
  let containerd: TestContainerd;
  let sandboxId: string;
  let containerId: string;

  beforeAll(async () => {
    containerd = await startContainerd();
    const { runtime } = containerd.client;
    const sandboxConfig = {
      metadata: { name: "live", uid: "uid-live", namespace: "default", attempt: 0 },
      linux: { securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } },
    };
    sandboxId = expectOk(await runtime.runPodSandbox(sandboxConfig, "", signal), "run");
    const config = { metadata: { name: "main" }, image: { image: BUSYBOX_IMAGE }, command: ["/bin/sleep", "1000"] };
    containerId = expectOk(await runtime.createContainer(sandboxId, config, sandboxConfig, signal), "create");
    expectOk(await runtime.startContainer(containerId, signal), "start");
  });
  afterAll(() => containerd?.stop());

  async function exec(
    cmd: string[],
    options: RemoteCommandOptions,
    more: { protocols?: readonly string[]; observer?: (frame: FrameReport) => void } = {},
  ): Promise<RemoteCommandClientSession> {
    const { runtime } = containerd.client;
    const url = expectOk(await runtime.exec({ containerId, cmd, ...options }, signal), "ask for a URL");
    const connected = await connectSpdyRemoteCommand(url, { options, clock, ...more }, signal);
    assert.equal(connected.outcome, "connected");
    return connected.session;
  }

  test("echo: its output, Success, and the frames in the recorded order", async () => {
    const frames: FrameReport[] = [];
    await using session = await exec(
      ["echo", "hi"],
      { ...PIPES, stdin: false },
      { observer: (one) => frames.push(one) },
    );
    assert.deepEqual(session.protocol, { framing: "SPDY", subprotocol: "v4.channel.k8s.io" });
    const [stdout, stderr, status] = await Promise.all([
      textOf(session.stdout),
      textOf(session.stderr),
      session.status,
    ]);
    assert.equal(stdout, "hi\n");
    assert.equal(stderr, "");
    assert.equal(status.status, "Success");
    const received = frames.filter(({ direction, type }) => direction === "received" && type !== "SYN_REPLY");
    const lines = received.map(({ type, channel, length, note }) => [type, channel, length, note].join(" ").trim());
    assert.ok(lines.includes("DATA stdout 3"), lines.join("\n"));
    assert.ok(lines.includes("DATA stdout 0 FIN"), lines.join("\n"));
    assert.ok(
      lines.some((line) => line.startsWith("DATA error 34")),
      lines.join("\n"),
    );
    assert.ok(lines.includes("RST_STREAM error 8 status CANCEL"), lines.join("\n"));
  });

  for (const protocol of ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io"]) {
    test(`cat over ${protocol}: what goes in comes out, and ends when stdin is closed`, async () => {
      await using session = await exec(["cat"], PIPES, { protocols: [protocol] });
      assert.equal(session.protocol.subprotocol, protocol);
      const output = textOf(session.stdout);
      await session.stdin?.write(Buffer.from("typed\n"));
      await session.stdin?.write(Buffer.from("once more\n"));
      await session.stdin?.end();
      assert.equal(await output, "typed\nonce more\n");
      assert.equal((await session.status).status, "Success");
    });
  }

  test("an exit code, and what was said on stderr", async () => {
    await using session = await exec(["sh", "-c", "echo no >&2; exit 3"], PIPES);
    assert.equal(await textOf(session.stderr), "no\n");
    assert.equal(exitCodeOf(await session.status), 3);
  });

  test("an exit code cannot be told in v2: it is a text", async () => {
    await using session = await exec(["sh", "-c", "exit 3"], PIPES, { protocols: ["v2.channel.k8s.io"] });
    const status = await session.status;
    assert.equal(status.status, "Failure");
    assert.match(status.message ?? "", /exit code/);
    assert.equal(exitCodeOf(status), undefined);
  });

  test("a command that is not there", async () => {
    await using session = await exec(["/no/such"], PIPES);
    const status = await session.status;
    assert.equal(status.status, "Failure");
    assert.match(status.message ?? "", /no such file or directory/);
  });

  test("8 MiB of any bytes through stdin and back", async () => {
    await using session = await exec(["cat"], PIPES);
    const sent = Buffer.alloc(8 << 20);
    for (let at = 0; at < sent.length; at += 4) sent.writeUInt32LE((at * 2_654_435_761) >>> 0, at);
    const received: Uint8Array[] = [];
    const reading = (async () => {
      for await (const piece of session.stdout ?? []) received.push(piece);
    })();
    await session.stdin?.write(sent);
    await session.stdin?.end();
    await reading;
    assert.ok(Buffer.concat(received).equals(sent));
    assert.equal((await session.status).status, "Success");
  });

  test("a terminal: its size, also when that changes", async () => {
    await using session = await exec(["sh"], TERMINAL);
    await session.resize({ width: 101, height: 37 });
    const output = lines(session.stdout);
    await session.stdin?.write(Buffer.from("until [ \"$(stty size)\" = '37 101' ]; do sleep 0.05; done; stty size\n"));
    await until(output, /^37 101$/);
    await session.resize({ width: 60, height: 20 });
    await session.stdin?.write(Buffer.from("until [ \"$(stty size)\" = '20 60' ]; do sleep 0.05; done; stty size\n"));
    await until(output, /^20 60$/);
    await session.stdin?.write(Buffer.from("exit 5\n"));
    await until(output, undefined);
    assert.equal(exitCodeOf(await session.status), 5);
  });

  test("a port: bytes both ways, many connections, and one that nobody listens on", async () => {
    const server = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const url = expectOk(await containerd.client.runtime.portForward({ podSandboxId: sandboxId }, signal), "ask");
    const connected = await connectSpdyPortForward(url, { clock }, signal);
    assert.equal(connected.outcome, "connected");
    await using session = connected.session;
    const echoes = Array.from({ length: 8 }, async (_, index) => {
      const connection = await session.connect(port);
      const text = `connection ${index} `.repeat(5_000);
      const answer = textOf(connection.incoming);
      await connection.write(Buffer.from(text));
      await connection.end();
      assert.equal(await answer, text);
      assert.equal(await connection.failure, undefined);
    });
    await Promise.all(echoes);
    server.close();
    await once(server, "close");
    const refused = await session.connect(port);
    assert.equal(await textOf(refused.incoming), "");
    assert.match((await refused.failure) ?? "", /connection refused/);
    await refused.close();
  });

  test("a token is good for one use", async () => {
    const { runtime } = containerd.client;
    const options = { ...PIPES, stdin: false };
    const url = expectOk(await runtime.exec({ containerId, cmd: ["true"], ...options }, signal), "ask for a URL");
    const first = await connectSpdyRemoteCommand(url, { options, clock }, signal);
    assert.equal(first.outcome, "connected");
    await using session = first.session;
    assert.equal((await session.status).status, "Success");
    const second = await connectSpdyRemoteCommand(url, { options, clock }, signal);
    assert.equal(second.outcome === "refused" ? second.status : second.outcome, 404);
  });
});

async function* lines(reader: ByteReader | undefined): AsyncGenerator<string> {
  let text = "";
  for await (const piece of reader ?? []) {
    text += Buffer.from(piece).toString();
    const whole = text.split("\n");
    text = whole.pop() ?? "";
    for (const line of whole) yield line.trimEnd();
  }
  if (text !== "") yield text;
}

/** Takes lines until one matches, or all of them. */
async function until(output: AsyncGenerator<string>, wanted: RegExp | undefined): Promise<void> {
  const seen: string[] = [];
  for (;;) {
    const { done, value } = await output.next();
    if (done) {
      assert.equal(wanted, undefined, `ended before ${wanted}: ${seen.join("\n")}`);
      return;
    }
    seen.push(value);
    if (wanted?.test(value)) return;
  }
}
