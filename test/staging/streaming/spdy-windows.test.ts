import assert from "node:assert/strict";
import { test } from "vitest";
import { data, firstOf, nextOfType, synStream } from "./spdy-frames.js";
import { withRawPeer } from "./spdy-support.js";

test("windows: a peer that does not use them gets data without limits", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.send(synStream(1));
  const stream = await firstOf(connection.streams);
  await stream.write(Buffer.alloc(300_000));
  await stream.end();
  let byteCount = 0;
  for (let frame = await peer.next(); frame !== undefined; frame = await peer.next()) {
    if (frame.type !== "DATA") continue;
    byteCount += frame.bytes.length;
    if (frame.fin) break;
  }
  assert.equal(byteCount, 300_000);
  await connection.close();
});

test("windows: SETTINGS sets them, WINDOW_UPDATE enlarges them, and the end waits for them", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.send({ type: "SETTINGS", settings: [{ id: 7, value: 10 }] }, synStream(1));
  const stream = await firstOf(connection.streams);
  const writing = stream.write(Buffer.from("0123456789abcdefghij"));
  const next = stream.write(Buffer.from("XY"));
  const ending = stream.end();
  const text = async () => {
    const frame = await nextOfType(peer, "DATA");
    return frame.type === "DATA" ? `${frame.bytes.toString()}${frame.fin ? "." : ""}` : "";
  };
  assert.equal(await text(), "0123456789");
  peer.send({ type: "WINDOW_UPDATE", streamId: 1, delta: 4 });
  assert.equal(await text(), "abcd");
  peer.send({ type: "WINDOW_UPDATE", streamId: 1, delta: 100 });
  assert.equal(await text(), "efghij");
  assert.equal(await text(), "XY");
  assert.equal(await text(), ".");
  await Promise.all([writing, next, ending]);
  await connection.close();
});

test("windows: a waiting writer fails when the stream is reset", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.send({ type: "SETTINGS", settings: [{ id: 7, value: 1 }] }, synStream(1));
  const stream = await firstOf(connection.streams);
  const writing = assert.rejects(stream.write(Buffer.from("01")), /the peer reset the stream: CANCEL/);
  await nextOfType(peer, "DATA");
  peer.send({ type: "RST_STREAM", streamId: 1, status: 5 });
  await writing;
  await connection.close();
});

test("windows: a peer that uses them gets updates for the stream and the connection", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.send({ type: "SETTINGS", settings: [] }, synStream(1), data(1, "x".repeat(40_000)));
  const stream = await firstOf(connection.streams);
  const reader = stream.incoming[Symbol.asyncIterator]();
  for (let read = 0; read < 40_000; ) read += (await reader.next()).value?.length ?? 0;
  const updates = [await nextOfType(peer, "WINDOW_UPDATE"), await nextOfType(peer, "WINDOW_UPDATE")];
  const ids = updates.map((frame) => (frame.type === "WINDOW_UPDATE" ? frame.streamId : -1));
  assert.deepEqual(ids.sort(), [0, 1]);
  for (const frame of updates) assert.ok(frame.type === "WINDOW_UPDATE" && frame.delta >= 32_768);
  await connection.close();
});
