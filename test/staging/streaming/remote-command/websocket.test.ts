import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "vitest";
import { WebSocket } from "ws";
import type { Status } from "../../../../src/staging/apimachinery/api/meta.js";
import { webSocketRemoteCommand } from "../../../../src/staging/client-go/remotecommand/websocket.js";
import { StreamError } from "../../../../src/staging/streaming/bytes.js";
import type { FrameReport } from "../../../../src/staging/streaming/frame-report.js";
import type {
  RemoteCommandOptions,
  RemoteCommandServerSession,
} from "../../../../src/staging/streaming/remote-command/session.js";
import { exitCodeOf, SUCCESS } from "../../../../src/staging/streaming/remote-command/status-text.js";
import { acceptWebSocketRemoteCommand } from "../../../../src/staging/streaming/remote-command/websocket-server.js";
import { connectWebSocket } from "../../../../src/staging/streaming/websocket/connect.js";
import { V5 } from "../../../../src/staging/streaming/websocket/subprotocols.js";
import { SystemClock } from "../../../../src/util/clock.js";
import { FakeClock, settle } from "../../../support/fake-clock.js";
import { deferred, startUpgradeServer, textOf } from "../support/upgrade-server.js";

const ALL: RemoteCommandOptions = { stdin: true, stdout: true, stderr: true, tty: false };
const TERMINAL: RemoteCommandOptions = { stdin: true, stdout: true, stderr: false, tty: true };
const EXIT_3: Status = {
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message: "command terminated with exit code 3",
  reason: "NonZeroExitCode",
  details: { causes: [{ reason: "ExitCode", message: "3" }] },
};
const SUBPROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io", "base64.channel.k8s.io"];
const clock = new SystemClock();

/** A server that runs `command` in each session, and our client for it. */
async function lab(
  command: (session: RemoteCommandServerSession) => Promise<void>,
  given: {
    readonly options?: RemoteCommandOptions;
    readonly subprotocols?: readonly string[];
    readonly clock?: FakeClock;
    readonly idleTimeoutMs?: number;
  } = {},
) {
  const refusals: unknown[] = [];
  const { options = ALL, subprotocols = [V5, "", ...SUBPROTOCOLS, "channel.k8s.io"], idleTimeoutMs } = given;
  const server = await startUpgradeServer(async (request, socket, head) => {
    try {
      const accept = { options, clock: given.clock ?? clock, subprotocols };
      const idle = idleTimeoutMs === undefined ? {} : { idleTimeoutMs };
      await command(await acceptWebSocketRemoteCommand(request, socket, head, { ...accept, ...idle }));
    } catch (error) {
      refusals.push(error);
    }
  });
  const connect = async (subprotocol: string, observer?: (frame: FrameReport) => void) => {
    const connected = await connectWebSocket(server.url, { subprotocols: [subprotocol] }, new AbortController().signal);
    assert.equal(connected.outcome, "connected");
    assert.ok(connected.outcome === "connected");
    return webSocketRemoteCommand(connected, { options, clock, ...(observer === undefined ? {} : { observer }) });
  };
  return { server, connect, refusals, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** `cat`: copies stdin to stdout, and writes its length to stderr. */
async function cat(session: RemoteCommandServerSession): Promise<void> {
  let byteCount = 0;
  for await (const bytes of session.stdin ?? []) {
    byteCount += bytes.length;
    await session.stdout?.write(bytes);
  }
  await session.stderr?.write(Buffer.from(String(byteCount)));
  await session.finish(SUCCESS);
}

for (const subprotocol of SUBPROTOCOLS) {
  test(`${subprotocol}: outputs and the way a command ended arrive`, async () => {
    await using one = await lab(async (session) => {
      await session.stdout?.write(Buffer.from("out\n"));
      await session.stderr?.write(Buffer.from("err\n"));
      await session.finish(EXIT_3);
    });
    await using session = await one.connect(subprotocol);
    const [stdout, stderr, status] = await Promise.all([
      textOf(session.stdout),
      textOf(session.stderr),
      session.status,
    ]);
    assert.deepEqual([stdout, stderr, status.message], ["out\n", "err\n", EXIT_3.message]);
    assert.equal(exitCodeOf(status), subprotocol === "base64.channel.k8s.io" ? undefined : 3);
    assert.equal(session.protocol.subprotocol, subprotocol);
  });
}

test("v5: a closed stdin reaches the command, and its outputs still come", async () => {
  await using one = await lab(cat);
  await using session = await one.connect(V5);
  await session.stdin?.write(Buffer.from("typed"));
  await session.stdin?.end();
  await session.stdin?.end();
  assert.deepEqual(await Promise.all([textOf(session.stdout), textOf(session.stderr)]), ["typed", "5"]);
  assert.equal((await session.status).status, "Success");
});

test("v4: stdin cannot be closed; the command sees its end only when the client is gone", async () => {
  const ended = deferred<unknown>();
  await using one = await lab(async (session) => {
    for await (const bytes of session.stdin ?? []) await session.stdout?.write(bytes);
    ended.resolve(session.signal.aborted);
  });
  const session = await one.connect("v4.channel.k8s.io");
  await session.stdin?.write(Buffer.from("typed"));
  await session.stdin?.end();
  for await (const bytes of session.stdout ?? []) {
    assert.equal(Buffer.from(bytes).toString(), "typed");
    break;
  }
  await session.close();
  assert.equal(await ended.promise, true);
  await assert.rejects(session.status, /without a status/);
});

test("a terminal: sizes arrive one by one, stderr does not exist", async () => {
  await using one = await lab(
    async (session) => {
      assert.equal(session.stderr, undefined);
      for await (const { width, height } of session.resizes) {
        await session.stdout?.write(Buffer.from(`${width}x${height} `));
        if (height === 50) break;
      }
      await session.finish(SUCCESS);
    },
    { options: TERMINAL },
  );
  await using session = await one.connect("v4.channel.k8s.io");
  await session.resize({ width: 80, height: 24 });
  await session.resize({ width: 132, height: 50 });
  assert.equal(await textOf(session.stdout), "80x24 132x50 ");
});

const sizes = [
  ['{"Width":100,"Height":40}', "100x40"],
  ['{"width":1,"height":2}{"Width":3,"Height":4}\n', "1x2 3x4"],
  ["nonsense", ""],
  ['{"Width":1,"Height":2}nonsense}{"Width":3,"Height":4}', "1x2"],
  ['{"Width":70000,"Height":2}', ""],
  ['{"Width":-1,"Height":2}', ""],
] as const;
for (const [text, want] of sizes) {
  test(`sizes in ${JSON.stringify(text)}, byte by byte: [${want}]`, async () => {
    const seen = deferred<string[]>();
    await using one = await lab(
      async (session) => {
        const all: string[] = [];
        for await (const { width, height } of session.resizes) all.push(`${width}x${height}`);
        seen.resolve(all);
      },
      { options: TERMINAL },
    );
    const ws = new WebSocket(one.server.url, "v4.channel.k8s.io");
    await once(ws, "open");
    for (const byte of Buffer.from(text)) ws.send(Uint8Array.of(4, byte));
    ws.close();
    assert.equal((await seen.promise).join(" "), want);
  });
}

test("a broken connection ends the sizes without an error", async () => {
  const seen = deferred<unknown>();
  await using one = await lab(
    async (session) => {
      const all: unknown[] = [];
      for await (const { width } of session.resizes) all.push(width);
      seen.resolve([...all, session.signal.aborted]);
    },
    { options: TERMINAL },
  );
  const ws = new WebSocket(one.server.url, "v4.channel.k8s.io");
  await once(ws, "open");
  ws.send(Buffer.from('\x04{"Width":1,"Height":2}'), () => ws.terminate());
  assert.deepEqual(await seen.promise, [1, true]);
});

const handshakes = [
  // offered                     supported                              answer
  ["v5.channel.k8s.io", ["v4.channel.k8s.io"], 403],
  ["v5.channel.k8s.io, v4.channel.k8s.io", ["", "v4.channel.k8s.io"], "v4.channel.k8s.io"],
  ["v4.channel.k8s.io, v5.channel.k8s.io", ["v5.channel.k8s.io", "v4.channel.k8s.io"], "v4.channel.k8s.io"],
  ["nonsense", ["", "channel.k8s.io"], 403],
] as const;
for (const [offered, supported, want] of handshakes) {
  test(`a handshake with [${offered}] at a server of [${supported}]: ${want}`, async () => {
    await using one = await lab((session) => session.finish(SUCCESS), { subprotocols: supported });
    const signal = new AbortController().signal;
    const result = await connectWebSocket(one.server.url, { subprotocols: offered.split(", ") }, signal);
    if (result.outcome === "connected") {
      assert.equal(result.subprotocol, want);
      result.ws.terminate();
    } else {
      assert.deepEqual([result.status, result.body.toString()], [want, ""]);
      assert.match(String(one.refusals[0]), /not supported/);
    }
  });
}

test("the first message is empty, on the lowest channel that the server writes", async () => {
  const table: [Partial<RemoteCommandOptions>, number][] = [
    [{}, 1],
    [{ stdout: false }, 2],
    [{ stdout: false, stderr: false }, 3],
  ];
  for (const [part, channel] of table) {
    await using one = await lab((session) => session.finish(SUCCESS), { options: { ...ALL, ...part } });
    const ws = new WebSocket(one.server.url, "v4.channel.k8s.io");
    const [message] = (await once(ws, "message")) as [Buffer];
    assert.deepEqual([...message], [channel]);
    ws.terminate();
  }
});

test("a client that disconnects aborts the session, with the reason", async () => {
  const seen = deferred<unknown>();
  await using one = await lab(async (session) => {
    await once(session.signal, "abort");
    seen.resolve(session.signal.reason);
    await assert.rejects(async () => {
      for (;;) await session.stdout?.write(Buffer.alloc(1000));
    }, StreamError);
  });
  const ws = new WebSocket(one.server.url, "v4.channel.k8s.io");
  await once(ws, "open");
  ws.terminate();
  assert.match(String(await seen.promise), /disconnected without a close/);
});

test("an idle session is ended, by the clock", async () => {
  const fake = new FakeClock();
  const begun = deferred<void>();
  const seen = deferred<unknown>();
  await using one = await lab(
    async (session) => {
      begun.resolve();
      await once(session.signal, "abort");
      seen.resolve(session.signal.reason);
    },
    { clock: fake, idleTimeoutMs: 60_000 },
  );
  const ws = new WebSocket(one.server.url, "v4.channel.k8s.io");
  await Promise.all([once(ws, "message"), begun.promise]);
  await fake.advance(59_000);
  assert.equal(ws.readyState, ws.OPEN);
  const closed = once(ws, "close");
  await fake.advance(2_000);
  assert.match(String(await seen.promise), /nothing was sent or received for 60 s/);
  await closed;
  assert.equal(fake.sleeping, 0);
});

test("a command that ends without a status: the client reports a broken connection", async () => {
  await using one = await lab(async (session) => {
    await session.stdout?.write(Buffer.from("half"));
    await session.close();
    await session.close();
  });
  await using session = await one.connect("v4.channel.k8s.io");
  await assert.rejects(session.status, StreamError);
});

test("a client that closes does not wait for a server that reads no input", async () => {
  const stuck = deferred<void>();
  await using it = await lab(() => stuck.promise);
  const connected = await connectWebSocket(it.server.url, { subprotocols: [V5] }, new AbortController().signal);
  assert.ok(connected.outcome === "connected");
  const fake = new FakeClock();
  const session = webSocketRemoteCommand(connected, { options: ALL, clock: fake });
  for (const socket of it.server.sockets) socket.pause();
  // More than the system's buffers can hold.
  connected.ws.send(Buffer.alloc(64 << 20));
  const closed = session.close();
  await fake.advance(1_000);
  await closed;
  stuck.resolve();
});

test("frames are reported where they are sent and received, with their channel", async () => {
  await using one = await lab(cat);
  const frames: FrameReport[] = [];
  await using session = await one.connect(V5, (frame) => frames.push(frame));
  await session.stdin?.write(Buffer.from("ab"));
  await session.stdin?.end();
  await Promise.all([textOf(session.stdout), textOf(session.stderr), session.status]);
  const lines = frames.map(({ direction, type, channel = "-", length, head }) => {
    return `${direction} ${type} ${channel} ${length} ${JSON.stringify(Buffer.from(head).toString())}`;
  });
  assert.deepEqual(
    lines.filter((line) => !line.includes("close")),
    [
      'received binary stdout 0 ""',
      'sent binary stdin 2 "ab"',
      'received binary stdout 2 "ab"',
      'received binary stderr 1 "2"',
      'received binary error 34 "{\\"metadata\\":{},\\"status\\":\\"Success\\"}"',
    ].sort((a, b) => lines.indexOf(a) - lines.indexOf(b)),
  );
  assert.ok(lines.includes('sent binary close 1 "\\u0000"'), lines.join("\n"));
});

test("a slow reader slows the command down, and the backlog is bounded on both sides", async () => {
  const total = 64 << 20;
  let written = 0;
  const stalled = deferred<void>();
  await using one = await lab(async (session) => {
    const piece = Buffer.alloc(64 * 1024, 7);
    while (written < total) {
      let isThere = false;
      const room = session.stdout?.write(piece).then(() => {
        isThere = true;
      });
      written += piece.length;
      // Room appears only when someone reads.
      for (let round = 0; round < 500 && !isThere; round++) await settle(1);
      if (!isThere) stalled.resolve();
      await room;
    }
    await session.finish(SUCCESS);
  });
  await using session = await one.connect("v4.channel.k8s.io");
  await stalled.promise;
  assert.ok(written < 32 << 20, `${written} bytes were written while nobody read`);
  let read = 0;
  for await (const bytes of session.stdout ?? []) read += bytes.length;
  assert.equal(read, total);
  assert.equal((await session.status).status, "Success");
});

test("200 sessions at once, each with its own bytes; all are closed at the end", async () => {
  await using one = await lab(cat);
  const all = Array.from({ length: 200 }, async (_, i) => {
    await using session = await one.connect(V5);
    await session.stdin?.write(Buffer.from(`session ${i}`));
    await session.stdin?.end();
    assert.equal(await textOf(session.stdout), `session ${i}`);
    assert.equal((await session.status).status, "Success");
  });
  await Promise.all(all);
  await Promise.all([...one.server.sockets].map((socket) => once(socket, "close")));
  assert.equal(one.server.sockets.size, 0);
});
