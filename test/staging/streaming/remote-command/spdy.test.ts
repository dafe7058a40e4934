import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { test } from "vitest";
import { connectSpdyRemoteCommand } from "../../../../src/staging/client-go/remotecommand/spdy.js";
import type { FrameReport } from "../../../../src/staging/streaming/frame-report.js";
import type {
  RemoteCommandClientSession,
  RemoteCommandOptions,
} from "../../../../src/staging/streaming/remote-command/session.js";
import { exitCodeOf, SUCCESS } from "../../../../src/staging/streaming/remote-command/status-text.js";
import { acceptSpdy } from "../../../../src/staging/streaming/spdy/accept.js";
import { encodeDataHead } from "../../../../src/staging/streaming/spdy/frames.js";
import { FakeClock, settle, untilTrue } from "../../../support/fake-clock.js";
import { RawPeer, textOf } from "../spdy-support.js";
import { deferred, startUpgradeServer, type UpgradeServer } from "../support/upgrade-server.js";

import { cat, EXIT_3, PIPES, serve, TERMINAL } from "./spdy-command.js";

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
  await untilTrue(() => sizes.length > 2);
  assert.deepEqual(sizes, ["80x24", "200x50", "end"]);
});

test("a broken connection ends the sizes without an error", async () => {
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

test("megabytes of output reach a slow client completely, before the status", async () => {
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

test("finish does not abort the session, and can be called twice", async () => {
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

test("an idle client is disconnected, with the reason", async () => {
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

test("the last message of a server that resets the connection is read, although the next write fails", async () => {
  const peer = deferred<RawPeer>();
  await using server = await startUpgradeServer(async (request, socket) => {
    acceptSpdy(request, socket, ["v4.channel.k8s.io"]);
    peer.resolve(new RawPeer(socket as Socket));
  });
  const connect = { options: PIPES, clock: new FakeClock() };
  const connecting = connectSpdyRemoteCommand(`${server.url}/exec`, connect, new AbortController().signal);
  const raw = await peer.promise;
  const ids = new Map<string, number>();
  while (ids.size < 4) {
    const frame = await raw.next();
    assert.ok(frame?.type === "SYN_STREAM");
    ids.set(frame.headers["streamtype"] ?? "", frame.streamId);
    raw.send({ type: "SYN_REPLY", streamId: frame.streamId, headers: {}, fin: false });
  }
  const connected = await connecting;
  assert.ok(connected.outcome === "connected");
  await using session = connected.session;
  const seen = Promise.all([textOf(session.stdout), session.status]);
  // After one turn of the loop this has arrived unread, and the client's next write fails.
  const say = (type: string, text: string) => {
    const bytes = Buffer.from(text);
    raw.send(Buffer.concat([encodeDataHead(ids.get(type) ?? 0, bytes.length, true), bytes]));
  };
  say("stdout", "y\n");
  say("stderr", "");
  say("error", JSON.stringify(EXIT_3));
  raw.socket.resetAndDestroy();
  await session.stdin?.write(Buffer.from("more input"));
  const [stdout, status] = await seen;
  assert.equal(stdout, "y\n");
  assert.equal(exitCodeOf(status), 3);
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
