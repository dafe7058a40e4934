import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "vitest";
import { StreamError } from "../../../src/staging/streaming/bytes.js";
import type { FrameReport } from "../../../src/staging/streaming/frame-report.js";
import { SpdyConnection } from "../../../src/staging/streaming/spdy/connection.js";
import { encodeControlFrame } from "../../../src/staging/streaming/spdy/frames.js";
import type { SpdyStream } from "../../../src/staging/streaming/spdy/stream.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { data, firstOf, synStream } from "./spdy-frames.js";
import { connectionPair, RawPeer, socketPair, textOf, withRawPeer } from "./spdy-support.js";

test("a stream carries bytes both ways, each of which ends by itself", async () => {
  await using pair = await connectionPair();
  const serving = (async () => {
    const stream = await firstOf(pair.server.streams);
    assert.deepEqual({ ...stream.headers }, { streamtype: "data", port: "80" });
    assert.equal(stream.channel, "data 80");
    stream.accept();
    const question = await textOf(stream.incoming);
    await stream.write(Buffer.from(`you said ${question}`));
    await stream.end();
    await stream.end();
    await assert.rejects(stream.write(Buffer.from("more")), /Write on closed stream/);
  })();
  const stream = await pair.client.open({ streamtype: "data", port: "80" });
  await stream.write(Buffer.from("a"));
  await stream.write(Buffer.alloc(0));
  await stream.write(Buffer.from("b"));
  await stream.end();
  assert.equal(await textOf(stream.incoming), "you said ab");
  await serving;
  await stream.closed;
});

test("no data is sent on a stream before the peer's answer, because upstream's peers would drop it", async () => {
  const { connection, peer } = await withRawPeer("client");
  const opening = connection.open({ streamtype: "stdin" });
  assert.deepEqual((await peer.next())?.type, "SYN_STREAM");
  let isOpen = false;
  void opening.then(() => {
    isOpen = true;
  });
  await settle();
  assert.equal(isOpen, false);
  peer.send({ type: "SYN_REPLY", streamId: 1, headers: {}, fin: false });
  const stream = await opening;
  await stream.write(Buffer.from("now"));
  const frame = await peer.next();
  assert.equal(frame?.type === "DATA" && frame.bytes.toString(), "now");
  peer.socket.destroy();
  await connection.close();
});

test("data that the peer sends before our answer is kept", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.send(synStream(1), data(1, "early", true));
  const stream = await firstOf(connection.streams);
  assert.equal(await textOf(stream.incoming), "early");
  await connection.close();
});

test("opening a stream fails without an answer in 30 s", async () => {
  const { connection, peer, clock } = await withRawPeer("client");
  const opening = connection.open({ streamtype: "stdin" });
  const refused = assert.rejects(opening, { name: "StreamError", message: "Timeout occurred" });
  assert.equal((await peer.next())?.type, "SYN_STREAM");
  await clock.advance(29_999);
  await clock.advance(1);
  await refused;
  assert.deepEqual(await peer.next(), { type: "RST_STREAM", streamId: 1, status: 5 });
  peer.socket.end();
  await connection.close();
  assert.equal(clock.sleeping, 0);
});

test("opening ends with the connection", async () => {
  const { connection, peer, clock } = await withRawPeer("client");
  const opening = assert.rejects(connection.open({}), /the peer closed the connection/);
  peer.socket.end();
  await opening;
  assert.match((await connection.closed)?.message ?? "", /the peer closed the connection/);
  await assert.rejects(connection.open({}), /the peer closed the connection/);
  assert.equal(clock.sleeping, 0);
});

test("a refused stream reports it", async () => {
  const { connection, peer } = await withRawPeer("client");
  const opening = assert.rejects(connection.open({}), /the peer reset the stream: REFUSED_STREAM/);
  peer.send({ type: "RST_STREAM", streamId: 1, status: 3 });
  await opening;
  peer.socket.end();
  await connection.close();
});

const RESETS: readonly (readonly [status: number, reading: "ends" | RegExp])[] = [
  // Upstream's way to end a stream: every session's error stream ends like this.
  [5, "ends"],
  [1, /the peer reset the stream: PROTOCOL_ERROR/],
  [6, /the peer reset the stream: INTERNAL_ERROR/],
  [99, /the peer reset the stream: 99/],
];
for (const [status, reading] of RESETS) {
  test(`a stream reset with ${status}: what came before is read, then it ${reading === "ends" ? "ends" : "fails"}`, async () => {
    const { connection, peer } = await withRawPeer("server");
    peer.send(synStream(1), data(1, "before"), { type: "RST_STREAM", streamId: 1, status });
    const stream = await firstOf(connection.streams);
    await stream.closed;
    const seen: string[] = [];
    const read = async () => {
      for await (const piece of stream.incoming) seen.push(Buffer.from(piece).toString());
    };
    if (reading === "ends") await read();
    else await assert.rejects(read(), reading);
    assert.deepEqual(seen, ["before"]);
    await assert.rejects(stream.write(Buffer.from("x")), { name: "StreamError" });
    await connection.close();
  });
}

test("a peer's PING is answered, and its answers are not", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.send({ type: "PING", pingId: 2 }, { type: "PING", pingId: 7 });
  assert.deepEqual(await peer.next(), { type: "PING", pingId: 7 });
  await connection.close();
});

test("unknown control frames are skipped", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.send("8003000a 00000003 010203", "80037fff 00000000", { type: "PING", pingId: 1 });
  assert.deepEqual(await peer.next(), { type: "PING", pingId: 1 });
  await connection.close();
});

test("closing resets open streams, sends GOAWAY and closes the socket", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.send(synStream(1), synStream(3), synStream(5));
  const streams = connection.streams[Symbol.asyncIterator]();
  const [first, second] = [(await streams.next()).value, (await streams.next()).value] as SpdyStream[];
  await second?.end();
  const closing = connection.close();
  assert.deepEqual(await first?.incoming[Symbol.asyncIterator]().next(), { done: true, value: undefined });
  const frames = await peer.rest();
  assert.deepEqual(
    frames.map((frame) => ("streamId" in frame ? `${frame.type} ${frame.streamId}` : frame.type)),
    ["SYN_REPLY 3", "DATA 3", "RST_STREAM 1", "RST_STREAM 5", "GOAWAY"],
  );
  assert.deepEqual(frames.at(-1), { type: "GOAWAY", lastStreamId: 5, status: 0 });
  await closing;
  await connection.close();
  assert.equal(await connection.closed, undefined);
  assert.equal((await streams.next()).value !== undefined, true);
  assert.equal((await streams.next()).done, true);
});

test("the connection closes a second after our end if the peer does not close its side", async () => {
  const { near, far } = await socketPair();
  far.pause();
  const clock = new FakeClock();
  const connection = new SpdyConnection(near, "client", { clock });
  const closing = connection.close();
  await clock.advance(999);
  assert.equal(near.destroyed, false);
  await clock.advance(1);
  await closing;
  assert.equal(clock.sleeping, 0);
  far.destroy();
});

test("after the peer's GOAWAY open streams continue, and no new ones are opened", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.send(synStream(1), { type: "GOAWAY", lastStreamId: 0, status: 0 }, data(1, "still "), synStream(3));
  const stream = await firstOf(connection.streams);
  await assert.rejects(connection.open({}), /the peer accepts no more streams/);
  peer.send(data(1, "here", true));
  assert.equal(await textOf(stream.incoming), "still here");
  assert.equal(await connection.closed, undefined);
});

test("a peer's end without GOAWAY fails open streams", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.send(synStream(1), data(1, "cut"));
  const stream = await firstOf(connection.streams);
  peer.socket.end();
  const reader = stream.incoming[Symbol.asyncIterator]();
  assert.equal(Buffer.from((await reader.next()).value ?? []).toString(), "cut");
  await assert.rejects(reader.next(), { name: "StreamError", message: "the peer closed the connection" });
  assert.equal((await connection.closed)?.message, "the peer closed the connection");
});

test("a reset connection reports its error", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.send(synStream(1));
  const stream = await firstOf(connection.streams);
  const reading = assert.rejects(textOf(stream.incoming), /the connection broke: .*ECONNRESET/);
  peer.socket.resetAndDestroy();
  await reading;
  assert.ok((await connection.closed) instanceof StreamError);
});

for (const isOpening of [false, true]) {
  test(`GOAWAY with a reason is the connection's reason${isOpening ? ", also where a stream was being opened" : ""}`, async () => {
    const { connection, peer } = await withRawPeer("client");
    const refused = isOpening && assert.rejects(connection.open({}), /the peer accepts no more streams/);
    peer.send({ type: "GOAWAY", lastStreamId: 0, status: 1 });
    assert.equal((await connection.closed)?.message, "the peer ended the connection: PROTOCOL_ERROR");
    await refused;
  });
}

test("an idle connection is closed with a reason; any frame restarts the time", async () => {
  const { connection, peer, clock } = await withRawPeer("server", { idleTimeoutMs: 60_000 });
  await clock.advance(59_000);
  peer.send({ type: "PING", pingId: 1 });
  assert.equal((await peer.next())?.type, "PING");
  await clock.advance(59_000);
  assert.equal(connection.over.aborted, false);
  await clock.advance(1_000);
  assert.equal(connection.over.aborted, true);
  assert.deepEqual(await peer.rest(), [{ type: "GOAWAY", lastStreamId: 0, status: 0 }]);
  assert.match((await connection.closed)?.message ?? "", /idle for 60 s/);
  assert.equal(clock.sleeping, 0);
});

test("stream IDs: one of the wrong side ends the connection, one out of order is refused", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.send(synStream(5), synStream(3), synStream(7));
  assert.deepEqual(await peer.next(), { type: "RST_STREAM", streamId: 3, status: 1 });
  peer.send(synStream(2));
  const frames = await peer.rest();
  assert.deepEqual(frames.at(-1), { type: "GOAWAY", lastStreamId: 7, status: 1 });
  assert.match((await connection.closed)?.message ?? "", /stream id 2 is for the server to open/);
});

test("DATA for an unknown stream is answered with INVALID_STREAM, for a former stream it is dropped", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.send(synStream(1), { type: "RST_STREAM", streamId: 1, status: 5 }, data(1, "late"), data(9, "what?"));
  assert.deepEqual(await peer.next(), { type: "RST_STREAM", streamId: 9, status: 2 });
  await connection.close();
});

test("more streams than the limit are refused", async () => {
  const { connection, peer } = await withRawPeer("server", { limits: { maxStreams: 2 } });
  peer.send(synStream(1), synStream(3), synStream(5));
  assert.deepEqual(await peer.next(), { type: "RST_STREAM", streamId: 5, status: 3 });
  await connection.close();
});

test("endlessly opened and reset streams do not pile up on a server that takes none", async () => {
  const { connection, peer } = await withRawPeer("server", { limits: { maxStreams: 10 } });
  for (let id = 1; id < 100; id += 2) peer.send(synStream(id), { type: "RST_STREAM", streamId: id, status: 5 });
  peer.send({ type: "PING", pingId: 1 });
  const refused: unknown[] = [];
  for (let frame = await peer.next(); frame?.type !== "PING"; frame = await peer.next()) refused.push(frame?.type);
  assert.equal(refused.length, 40);
  await connection.close();
});

test("frames are reported once, in order, with their channel", async () => {
  const { near, far } = await socketPair();
  const clock = new FakeClock();
  const reports: FrameReport[] = [];
  await using connection = new SpdyConnection(near, "client", { clock, observer: (frame) => reports.push(frame) });
  await using server = new SpdyConnection(far, "server", { clock });
  const serving = (async () => {
    const stream = await firstOf(server.streams);
    await stream.write(Buffer.from("z".repeat(200_000)));
    await stream.end();
  })();
  const stream = await connection.open({ streamtype: "stdout" });
  await textOf(stream.incoming);
  await stream.end();
  await serving;
  const lines = reports.map(({ direction, type, streamId, channel, length, note }) =>
    [direction, type, streamId, channel, length, note].filter((part) => part !== undefined).join(" "),
  );
  assert.match(lines[0] ?? "", /^sent SYN_STREAM 1 stdout \d+ streamtype=stdout$/);
  assert.match(lines[1] ?? "", /^received SYN_REPLY 1 stdout \d+$/);
  assert.deepEqual(lines.slice(2), [
    "received DATA 1 stdout 65536",
    "received DATA 1 stdout 65536",
    "received DATA 1 stdout 65536",
    "received DATA 1 stdout 3392",
    "received DATA 1 stdout 0 FIN",
    "sent DATA 1 stdout 0 FIN",
  ]);
  assert.equal(Buffer.from(reports[2]?.head ?? []).toString(), "z".repeat(64));
});

test("a connection on a closed socket is closed", async () => {
  const { near, far } = await socketPair();
  near.destroy();
  await once(near, "close");
  const connection = new SpdyConnection(near, "server", { clock: new FakeClock() }, { idleTimeoutMs: 1_000 });
  assert.match((await connection.closed)?.message ?? "", /the connection was closed/);
  assert.equal((await connection.streams[Symbol.asyncIterator]().next()).done, true);
  await assert.rejects(connection.open({}), /the connection was closed/);
  await connection.close();
  far.destroy();
});

test("bytes received with the upgrade are read first", async () => {
  const { near, far } = await socketPair();
  const peer = new RawPeer(far);
  const head = encodeControlFrame(synStream(1), peer.compressor);
  const connection = new SpdyConnection(near, "server", { clock: new FakeClock() }, { head });
  peer.send(data(1, "after", true));
  assert.equal(await textOf((await firstOf(connection.streams)).incoming), "after");
  await connection.close();
});
