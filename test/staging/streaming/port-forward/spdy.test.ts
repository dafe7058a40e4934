import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "vitest";
import { connectSpdyPortForward, spdyPortForward } from "../../../../src/staging/client-go/portforward/spdy.js";
import type {
  ForwardedConnection,
  PortForwardServerSession,
} from "../../../../src/staging/streaming/port-forward/session.js";
import {
  acceptSpdyPortForward,
  serveSpdyPortForward,
} from "../../../../src/staging/streaming/port-forward/spdy-server.js";
import { encodeDataHead } from "../../../../src/staging/streaming/spdy/frames.js";
import { FakeClock, settle } from "../../../support/fake-clock.js";
import { nextOfType } from "../spdy-frames.js";
import { memoryPair, RawPeer, socketPair, textOf } from "../spdy-support.js";
import { startUpgradeServer } from "../support/upgrade-server.js";

const { signal } = new AbortController();

/** The pod: answers with what it received; port 9 has no listener. */
async function answer(connection: ForwardedConnection): Promise<void> {
  if (connection.port === 9) return connection.fail("error forwarding port 9 to pod p, uid : connection refused");
  const text = await textOf(connection.incoming);
  await connection.write(Buffer.from(`${connection.port}: ${text}`));
  await connection.end();
}

async function serveAll(session: PortForwardServerSession): Promise<void> {
  const running: Promise<void>[] = [];
  for await (const connection of session.connections) running.push(answer(connection));
  await Promise.all(running);
}

async function started(clock: FakeClock) {
  const ended: string[] = [];
  const server = await startUpgradeServer(async (request, socket, head) => {
    try {
      await using session = await acceptSpdyPortForward(request, socket, head, { clock });
      await serveAll(session);
      ended.push("over");
    } catch (error) {
      ended.push(String(error));
    }
  });
  return { server, ended };
}

async function ask(connection: ForwardedConnection, text: string): Promise<string> {
  const reading = textOf(connection.incoming);
  await connection.write(Buffer.from(text));
  await connection.end();
  return reading;
}

test("concurrent connections, each with its own port and its own end", async () => {
  const clock = new FakeClock();
  const { server, ended } = await started(clock);
  await using _server = server;
  const connected = await connectSpdyPortForward(`${server.url}/portForward`, { clock }, signal);
  assert.equal(connected.outcome, "connected");
  const { session } = connected;
  assert.deepEqual(session.protocol, { framing: "SPDY", subprotocol: "portforward.k8s.io" });
  const ports = [80, 443, 80, 65_535];
  const connections = await Promise.all(ports.map((port) => session.connect(port)));
  const texts = await Promise.all(connections.map((connection, index) => ask(connection, `hello ${index}`)));
  assert.deepEqual(texts, ["80: hello 0", "443: hello 1", "80: hello 2", "65535: hello 3"]);
  for (const connection of connections) assert.equal(await connection.failure, undefined);
  await session.close();
  await session.closed;
  await settle();
  assert.deepEqual(ended, ["over"]);
  assert.equal(clock.sleeping, 0);
});

test("an error is reported on the error stream; the other connections continue", async () => {
  const clock = new FakeClock();
  const { server } = await started(clock);
  await using _server = server;
  const connected = await connectSpdyPortForward(server.url, { clock }, signal);
  assert.equal(connected.outcome, "connected");
  await using session = connected.session;
  const [bad, good] = await Promise.all([session.connect(9), session.connect(80)]);
  assert.equal(await bad.failure, "error forwarding port 9 to pod p, uid : connection refused");
  assert.equal(await textOf(bad.incoming), "");
  await bad.close();
  await bad.close();
  assert.equal(await ask(good, "x"), "80: x");
});

test("over a Duplex that already speaks SPDY, such as a tunnel of messages", async () => {
  const { near, far } = memoryPair();
  const clock = new FakeClock();
  const serving = serveAll(serveSpdyPortForward(far, new Uint8Array(0), { clock }));
  const session = spdyPortForward(near, new Uint8Array(0), { clock });
  assert.equal(await ask(await session.connect(80), "through"), "80: through");
  await session.close();
  await serving;
  assert.equal(clock.sleeping, 0);
});

test("a server without the protocol is reported", async () => {
  const clock = new FakeClock();
  await using server = await startUpgradeServer(async (_request, socket) => {
    socket.end("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n");
  });
  await assert.rejects(
    connectSpdyPortForward(server.url, { clock }, signal),
    /client supports "portforward.k8s.io", server returned ""/,
  );
});

test("the session ends when the client is gone, with the reason", async () => {
  const { near, far } = await socketPair();
  const clock = new FakeClock();
  const session = serveSpdyPortForward(far, new Uint8Array(0), { clock, idleTimeoutMs: 1_000 });
  const client = spdyPortForward(near, new Uint8Array(0), { clock });
  const serving = serveAll(session);
  const connection = await client.connect(80);
  near.resetAndDestroy();
  await assert.rejects(serving, { name: "StreamError" });
  if (!session.signal.aborted) await once(session.signal, "abort");
  assert.match(String(session.signal.reason), /StreamError/);
  await assert.rejects(textOf(connection.incoming), { name: "StreamError" });
  assert.equal(await connection.failure, undefined);
  await client.closed;
  await assert.rejects(client.connect(80), { name: "StreamError" });
  await session.close();
});

async function raw(creationTimeoutMs?: number) {
  const { near, far } = await socketPair();
  const clock = new FakeClock();
  const session = serveSpdyPortForward(far, new Uint8Array(0), { clock, creationTimeoutMs });
  const taken: ForwardedConnection[] = [];
  void (async () => {
    for await (const connection of session.connections) taken.push(connection);
  })();
  return { session, peer: new RawPeer(near), clock, taken };
}

const synStream = (streamId: number, headers: Record<string, string>) =>
  ({ type: "SYN_STREAM", streamId, headers, fin: false, unidirectional: false }) as const;

const BAD_STREAMS: readonly (readonly [what: string, headers: Record<string, string>])[] = [
  ["no port", { streamtype: "data" }],
  ["port 0", { streamtype: "data", port: "0" }],
  ["port 65536", { streamtype: "data", port: "65536" }],
  ["a port that is no number", { streamtype: "data", port: "http" }],
  ["no type", { port: "80" }],
  ["another type", { streamtype: "stdin", port: "80" }],
];
for (const [what, headers] of BAD_STREAMS) {
  test(`a stream with ${what} is reset, without an answer`, async () => {
    const { session, peer } = await raw();
    peer.send(synStream(1, headers));
    assert.deepEqual(await peer.next(), { type: "RST_STREAM", streamId: 1, status: 5 });
    await session.close();
  });
}

test("a pair without its second stream in 30 s fails with a message", async () => {
  const { session, peer, clock, taken } = await raw();
  peer.send(synStream(1, { streamtype: "error", port: "80", requestid: "7" }));
  peer.send(synStream(3, { streamtype: "data", port: "80", requestid: "8" }));
  assert.equal((await peer.next())?.type, "SYN_REPLY");
  assert.equal((await peer.next())?.type, "SYN_REPLY");
  await clock.advance(30_000);
  const frames = [await peer.next(), await peer.next(), await peer.next()];
  const seen = frames.map((frame) => (frame?.type === "DATA" ? frame.bytes.toString() : `${frame?.type}`));
  assert.deepEqual(seen.sort(), ["", "(request=7) timed out waiting for streams", "RST_STREAM"]);
  assert.equal(taken.length, 0);
  assert.equal(clock.sleeping, 1, "the idle timeout alone");
  await session.close();
  assert.equal(clock.sleeping, 0);
});

test("a stream that is reset before the second one of its pair leaves nothing behind", async () => {
  const { session, peer, clock } = await raw();
  peer.send(synStream(1, { streamtype: "error", port: "80", requestid: "1" }));
  await peer.next();
  peer.send({ type: "RST_STREAM", streamId: 1, status: 5 }, { type: "PING", pingId: 1 });
  await peer.next();
  await settle();
  assert.equal(clock.sleeping, 1, "the idle timeout alone");
  await session.close();
  assert.equal(clock.sleeping, 0);
});

test("a duplicate stream of a pair is reported", async () => {
  const { session, peer } = await raw();
  peer.send(synStream(1, { streamtype: "error", port: "80", requestid: "1" }));
  peer.send(synStream(3, { streamtype: "error", port: "80", requestid: "1" }));
  for (let frame = await peer.next(); frame?.type !== "DATA" || frame.fin; frame = await peer.next()) {
    assert.equal(frame?.type, "SYN_REPLY");
  }
  await session.close();
});

test("clients without request IDs: a data stream belongs to the error stream before it", async () => {
  const { session, peer, taken } = await raw();
  peer.send(synStream(1, { streamtype: "error", port: "80" }), synStream(3, { streamtype: "data", port: "80" }));
  peer.send(Buffer.concat([encodeDataHead(3, 2, true), Buffer.from("hi")]), { type: "PING", pingId: 1 });
  await nextOfType(peer, "PING");
  await settle();
  assert.equal(taken.length, 1);
  assert.equal(await textOf(taken[0]?.incoming ?? (async function* () {})()), "hi");
  await session.close();
});
