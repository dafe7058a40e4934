import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "vitest";
import type { Status } from "../../../src/api/meta.js";
import type { FrameReport } from "../../../src/streaming/frame-report.js";
import type {
  RemoteCommandClientSession,
  RemoteCommandOptions,
  RemoteCommandServerSession,
} from "../../../src/streaming/remote-command/session.js";
import {
  type ConnectSpdyRemoteCommandOptions,
  connectSpdyRemoteCommand,
} from "../../../src/streaming/remote-command/spdy-client.js";
import { type AcceptSpdyOptions, acceptSpdyRemoteCommand } from "../../../src/streaming/remote-command/spdy-server.js";
import { exitCodeOf, SUCCESS } from "../../../src/streaming/remote-command/status-text.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { RawPeer, textOf } from "../spdy-support.js";
import { deferred, startUpgradeServer, type UpgradeServer } from "../support/upgrade-server.js";

const { signal } = new AbortController();
const PIPES: RemoteCommandOptions = { stdin: true, stdout: true, stderr: true, tty: false };
const TERMINAL: RemoteCommandOptions = { stdin: true, stdout: true, stderr: false, tty: true };
const EXIT_3: Status = {
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  reason: "NonZeroExitCode",
  message: "command terminated with non-zero exit code: exit status 3",
  details: { causes: [{ reason: "ExitCode", message: "3" }] },
};

interface Setup {
  readonly server: UpgradeServer;
  readonly clock: FakeClock;
  /** how each accept ended that did not give a session */
  readonly refusals: string[];
  open(more?: Partial<ConnectSpdyRemoteCommandOptions>): Promise<RemoteCommandClientSession>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A server that runs `command` for whoever comes. */
async function serve(
  options: RemoteCommandOptions,
  command: (session: RemoteCommandServerSession) => Promise<void>,
  accept: Partial<AcceptSpdyOptions> = {},
): Promise<Setup> {
  const clock = new FakeClock();
  const refusals: string[] = [];
  const server = await startUpgradeServer(async (request, socket, head) => {
    try {
      await command(await acceptSpdyRemoteCommand(request, socket, head, { options, clock, ...accept }));
    } catch (error) {
      refusals.push(String(error));
    }
  });
  return {
    server,
    clock,
    refusals,
    async open(more = {}) {
      const connected = await connectSpdyRemoteCommand(`${server.url}/exec`, { options, clock, ...more }, signal);
      assert.equal(connected.outcome, "connected");
      return connected.session;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      assert.equal(clock.sleeping, 0);
    },
  };
}

async function cat(session: RemoteCommandServerSession): Promise<void> {
  for await (const piece of session.stdin ?? []) await session.stdout?.write(piece);
  await session.stderr?.write(Buffer.from("done"));
  await session.finish(EXIT_3);
}

const PROTOCOLS = ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"] as const;
for (const protocol of PROTOCOLS) {
  test(`${protocol}: stdin ends, both outputs arrive, and ${protocol[1] === "4" ? "the exit code" : "a text"}`, async () => {
    await using setup = await serve(PIPES, cat);
    await using session = await setup.open({ protocols: [protocol] });
    assert.deepEqual(session.protocol, { framing: "SPDY", subprotocol: protocol });
    await session.stdin?.write(Buffer.from("typed"));
    await session.stdin?.end();
    const [stdout, stderr, status] = await Promise.all([
      textOf(session.stdout),
      textOf(session.stderr),
      session.status,
    ]);
    assert.deepEqual([stdout, stderr], ["typed", "done"]);
    assert.equal(status.status, "Failure");
    assert.equal(status.message, EXIT_3.message);
    assert.equal(exitCodeOf(status), protocol === "v4.channel.k8s.io" ? 3 : undefined);
  });

  test(`${protocol}: success`, async () => {
    await using setup = await serve(PIPES, (session) => session.finish(SUCCESS));
    await using session = await setup.open({ protocols: [protocol] });
    assert.equal(exitCodeOf(await session.status), 0);
    assert.equal(await textOf(session.stdout), "");
  });
}

const OPTIONS: readonly (readonly [options: RemoteCommandOptions, protocol: string, streams: string])[] = [
  [PIPES, "v4.channel.k8s.io", "error stdin stdout stderr"],
  [{ ...PIPES, stdin: false }, "v4.channel.k8s.io", "error stdout stderr"],
  [{ ...PIPES, stdin: false, stderr: false }, "v4.channel.k8s.io", "error stdout"],
  [TERMINAL, "v4.channel.k8s.io", "error stdin stdout resize"],
  [TERMINAL, "v3.channel.k8s.io", "error stdin stdout resize"],
  [TERMINAL, "v2.channel.k8s.io", "error stdin stdout"],
  [{ ...TERMINAL, stderr: true }, "v4.channel.k8s.io", "error stdin stdout resize"],
];
for (const [options, protocol, streams] of OPTIONS) {
  test(`${JSON.stringify(options)} in ${protocol}: opens ${streams}`, async () => {
    const reports: FrameReport[] = [];
    await using setup = await serve(options, (session) => session.finish(SUCCESS));
    await using session = await setup.open({ protocols: [protocol], observer: (report) => reports.push(report) });
    await session.status;
    const opened = reports.filter(({ type }) => type === "SYN_STREAM").map(({ channel }) => channel);
    assert.equal(opened.join(" "), streams);
    assert.equal(session.stdin !== undefined, options.stdin);
    assert.equal(session.stderr !== undefined, options.stderr && !options.tty);
  });
}

test("sizes of a terminal arrive in order, and end with the session", async () => {
  const sizes: string[] = [];
  await using setup = await serve(TERMINAL, async (session) => {
    const reading = (async () => {
      for await (const { width, height } of session.resizes) {
        sizes.push(`${width}x${height}`);
        if (sizes.length === 2) await session.finish(SUCCESS);
      }
    })();
    await reading;
    sizes.push("end");
  });
  await using session = await setup.open();
  await session.resize({ width: 80, height: 24 });
  await session.resize({ width: 200, height: 50 });
  await session.status;
  await settle();
  assert.deepEqual(sizes, ["80x24", "200x50", "end"]);
});

test("a connection that breaks ends the sizes: who follows them, and looks at nothing, throws nothing", async () => {
  const sizes: string[] = [];
  const ended = deferred<unknown>();
  await using setup = await serve(TERMINAL, async (session) => {
    for await (const { width } of session.resizes) sizes.push(String(width));
    const isGone = session.signal.aborted;
    await session.close();
    ended.resolve(isGone);
  });
  const session = await setup.open();
  await session.resize({ width: 80, height: 24 });
  while (sizes.length === 0) await settle();
  session.status.catch(() => {}); // it broke
  await session.close();
  assert.equal(await ended.promise, true);
  assert.deepEqual([sizes, setup.refusals], [["80"], []]);
});

test("megabytes of output all reach a client that is slow, before the status does", async () => {
  const bytes = Buffer.alloc(65_536, 5);
  await using setup = await serve({ ...PIPES, stdin: false }, async (session) => {
    for (let at = 0; at < 160; at++) await session.stdout?.write(bytes);
    await session.finish(SUCCESS);
  });
  await using session = await setup.open();
  let count = 0;
  for await (const piece of session.stdout ?? []) {
    count += piece.length;
    await settle(1);
  }
  assert.equal(count, 160 * 65_536);
  assert.equal((await session.status).status, "Success");
});

const GOES: readonly (readonly [
  how: string,
  go: (session: RemoteCommandClientSession, server: UpgradeServer) => unknown,
])[] = [
  ["closes its session", (session) => session.close()],
  ["loses its connection", (_, server) => [...server.sockets].map((socket) => socket.resetAndDestroy())],
];
for (const [how, go] of GOES) {
  test(`the command hears when the client ${how}`, async () => {
    let heard = "";
    let left: Promise<void> = Promise.resolve();
    const started = deferred<void>();
    await using setup = await serve(PIPES, async (session) => {
      started.resolve();
      left = once(session.signal, "abort").then(async () => {
        heard = String(session.signal.reason);
        await assert.rejects(Promise.resolve(session.stdout?.write(Buffer.from("x"))), { name: "StreamError" });
        await session.finish(SUCCESS);
        await session.close();
      });
      await left;
    });
    const session = await setup.open();
    await started.promise;
    await go(session, setup.server);
    await left;
    await settle();
    assert.match(heard, /StreamError/);
    await assert.rejects(session.status, { name: "StreamError" });
    await session.close();
  });
}

test("finishing is no abort, and may be done twice", async () => {
  let isAborted = true;
  await using setup = await serve(PIPES, async (session) => {
    await session.finish(SUCCESS);
    await session.finish(EXIT_3);
    await session.close();
    isAborted = session.signal.aborted;
  });
  await using session = await setup.open();
  assert.equal((await session.status).status, "Success");
  await session.close();
  await settle();
  assert.equal(isAborted, false);
});

test("a connection that ends without a status is a failure", async () => {
  await using setup = await serve(PIPES, (session) => session.close());
  await using session = await setup.open();
  await assert.rejects(session.status, { name: "StreamError", message: "the connection ended without a status" });
});

test("a client that is silent for too long is left, with the reason", async () => {
  let reason = "";
  await using setup = await serve(
    PIPES,
    async (session) => {
      await once(session.signal, "abort");
      reason = String(session.signal.reason);
    },
    { idleTimeoutMs: 60_000 },
  );
  await using session = await setup.open();
  await settle();
  await setup.clock.advance(60_000);
  await assert.rejects(session.status, /ended without a status/);
  assert.match(reason, /idle for 60 s/);
});

/** A raw client: sends a request's text, reads the answer up to its empty line. */
async function ask(server: UpgradeServer, headers: readonly string[]) {
  const socket = connect(server.port, "127.0.0.1");
  socket.write(["POST /exec HTTP/1.1", "Host: x", ...headers, "", ""].join("\r\n"));
  let text = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += (chunk as Buffer).toString("latin1");
    if (text.includes("\r\n\r\n")) break;
  }
  return { socket, text };
}

const UPGRADE = ["Connection: Upgrade", "Upgrade: SPDY/3.1"];
const REFUSALS: readonly (readonly [what: string, headers: readonly string[], answer: RegExp])[] = [
  [
    "no version",
    UPGRADE,
    /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*unable to upgrade: X-Stream-Protocol-Version is required\n$/,
  ],
  [
    "an unknown version",
    [...UPGRADE, "X-Stream-Protocol-Version: v9.channel.k8s.io, v8"],
    /^HTTP\/1\.1 403 Forbidden\r\nX-Accepted-Stream-Protocol-Versions: v4\.channel\.k8s\.io\r\n[\s\S]*client supports \[v9\.channel\.k8s\.io v8\], server accepts \[v4\.channel\.k8s\.io v3\.channel\.k8s\.io v2\.channel\.k8s\.io channel\.k8s\.io\]\n$/,
  ],
  [
    "another protocol",
    ["Connection: Upgrade", "Upgrade: tcp", "X-Stream-Protocol-Version: channel.k8s.io"],
    /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*missing upgrade headers in request: http\.Header\{"Connection":\[\]string\{"Upgrade"\}, "Upgrade":\[\]string\{"tcp"\}, "X-Stream-Protocol-Version":\[\]string\{"channel\.k8s\.io"\}\}\n$/,
  ],
];
for (const [what, headers, answer] of REFUSALS) {
  test(`refused in upstream's words: ${what}`, async () => {
    await using setup = await serve(PIPES, cat);
    const { socket, text } = await ask(setup.server, headers);
    assert.match(text, answer);
    await once(socket, "close");
    assert.equal(setup.refusals.length, 1);
    assert.match(setup.refusals[0] ?? "", /^StreamError: unable to upgrade/);
  });
}

const OFFERS: readonly (readonly [headers: readonly string[], chosen: string])[] = [
  [
    ["X-Stream-Protocol-Version: v2.channel.k8s.io", "X-Stream-Protocol-Version: v4.channel.k8s.io"],
    "v2.channel.k8s.io",
  ],
  [["X-Stream-Protocol-Version: v5.channel.k8s.io, v3.channel.k8s.io"], "v3.channel.k8s.io"],
  [["x-stream-protocol-version: channel.k8s.io"], "channel.k8s.io"],
];
for (const [headers, chosen] of OFFERS) {
  test(`of ${headers.join(" and ")}, ${chosen} is chosen`, async () => {
    await using setup = await serve(PIPES, cat);
    const { socket, text } = await ask(setup.server, [...UPGRADE, ...headers]);
    assert.equal(
      text,
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${chosen}\r\n\r\n`,
    );
    socket.destroy();
    await settle();
  });
}

async function rawClient(setup: Setup): Promise<RawPeer> {
  const { socket } = await ask(setup.server, [...UPGRADE, "X-Stream-Protocol-Version: v4.channel.k8s.io"]);
  return new RawPeer(socket);
}

const synStream = (streamId: number, streamtype: string) =>
  ({ type: "SYN_STREAM", streamId, headers: { streamtype }, fin: false, unidirectional: false }) as const;

test("streams that do not come in 30 s: the connection is closed with the reason", async () => {
  await using setup = await serve(PIPES, cat);
  const peer = await rawClient(setup);
  peer.send(synStream(1, "error"), synStream(3, "stdin"), synStream(5, "no such"));
  for (let replies = 0; replies < 3; replies++) assert.equal((await peer.next())?.type, "SYN_REPLY");
  await setup.clock.advance(30_000);
  const frames = await peer.rest();
  assert.equal(frames.at(-1)?.type, "GOAWAY");
  await settle();
  assert.deepEqual(setup.refusals, ["StreamError: timed out waiting for client to create streams"]);
});

test("a client that goes before its streams are there is no timeout", async () => {
  await using setup = await serve(PIPES, cat);
  const peer = await rawClient(setup);
  peer.send(synStream(1, "error"));
  await peer.next();
  peer.socket.end();
  await peer.rest();
  await settle();
  assert.match(setup.refusals[0] ?? "", /the peer closed the connection/);
});

test("streams in another order, of a kind twice, and unknown ones: the command runs with the last of each", async () => {
  await using setup = await serve({ ...PIPES, stdin: false, stderr: false }, async (session) => {
    await session.stdout?.write(Buffer.from("out"));
    await session.finish(SUCCESS);
  });
  const peer = await rawClient(setup);
  peer.send(synStream(1, "stdout"), synStream(3, "what"), synStream(5, "stdout"), synStream(7, "error"));
  const frames = await peer.rest();
  const written = frames.flatMap((frame) =>
    frame.type === "DATA" ? [`${frame.streamId} ${frame.bytes.toString()}${frame.fin ? " FIN" : ""}`] : [],
  );
  assert.deepEqual(written, ["5 out", "5  FIN", '7 {"metadata":{},"status":"Success"}']);
});

test("a server that refuses is told of as it answered", async () => {
  await using setup = await serve(PIPES, cat, { supported: ["v2.channel.k8s.io"] });
  const answer = await connectSpdyRemoteCommand(
    setup.server.url,
    { options: PIPES, clock: setup.clock, protocols: ["v4.channel.k8s.io"] },
    signal,
  );
  assert.equal(answer.outcome, "refused");
  assert.equal(answer.outcome === "refused" && answer.status, 403);
  assert.match(answer.outcome === "refused" ? answer.body.toString() : "", /server accepts \[v2\.channel\.k8s\.io\]/);
});

test("no server, and a signal that aborts", async () => {
  const clock = new FakeClock();
  const options = { options: PIPES, clock };
  await assert.rejects(connectSpdyRemoteCommand("http://127.0.0.1:1/", options, signal), (error: Error) => {
    assert.equal(error.name, "StreamError");
    return /ECONNREFUSED/.test(error.message);
  });
  const silent = await startUpgradeServer(() => new Promise(() => {}));
  const stop = new AbortController();
  const asking = assert.rejects(connectSpdyRemoteCommand(silent.url, options, stop.signal), /enough/);
  await settle();
  stop.abort(new Error("enough"));
  await asking;
  for (const socket of silent.sockets) socket.destroy();
});

test("200 commands at once", async () => {
  await using setup = await serve(PIPES, cat);
  const texts = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      await using session = await setup.open();
      await session.stdin?.write(Buffer.from(`number ${index}`));
      await session.stdin?.end();
      const text = await textOf(session.stdout);
      assert.equal(exitCodeOf(await session.status), 3);
      return text;
    }),
  );
  assert.deepEqual(
    texts,
    texts.map((_, index) => `number ${index}`),
  );
});
