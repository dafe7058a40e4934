import assert from "node:assert/strict";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { test } from "vitest";
import { acceptWebSocket } from "../../../../src/staging/streaming/websocket/accept.js";
import { MessageSocket } from "../../../../src/staging/streaming/websocket/message-socket.js";
import { separateRecords } from "../../../../src/staging/streaming/websocket/separate-records.js";
import { SystemClock } from "../../../../src/util/clock.js";
import { untilTrue } from "../../../support/fake-clock.js";
import { makeAuthority, makeLeaf } from "../../../support/https-server.js";
import { assertApart, RecordedConnection } from "../../../support/tls-records.js";

const HEAD = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
const { keyPem: key, certificatePem: cert } = await makeLeaf(await makeAuthority());

/** Connects to an HTTPS server that answers the upgrade with `serve`. */
async function connected(serve: (...upgrade: Parameters<typeof acceptWebSocket>) => Promise<void> | void) {
  const server = createServer({ key, cert });
  server.on("upgrade", (request, socket, head) => serve(request, socket, head, [""]));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = await RecordedConnection.open({ port, rejectUnauthorized: false });
  client.upgrade("/", "");
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("each message that is sent in one go has a record of its own, and so has the close", async () => {
  const sizes = [0, 1, 125, 126, 5_000, 0, 3, 3];
  await using it = await connected(async (...upgrade) => {
    const { ws, socket } = await acceptWebSocket(...upgrade);
    const messages = new MessageSocket(ws, { take() {}, ended() {} }, { clock: new SystemClock() }, { socket });
    for (const size of sizes) await messages.send(Buffer.alloc(size, 7));
    await messages.close();
  });
  await it.client.ended();
  const [head = 0, ...frames] = it.client.frames;
  assert.deepEqual(frames, [...sizes.map((size) => size + (size < 126 ? 2 : 4)), 4]);
  assert.deepEqual(it.client.records, [head, ...frames]);
});

function frame(size: number, isMasked = false): Buffer {
  const [high, middle, low] = [size >> 16, (size >> 8) & 0xff, size & 0xff];
  const length = size < 126 ? [low] : high === 0 ? [126, middle, low] : [127, 0, 0, 0, 0, 0, high, middle, low];
  const [first = 0, ...rest] = length;
  const header = [0x82, isMasked ? first | 0x80 : first, ...rest];
  return Buffer.concat([Buffer.from(header), Buffer.alloc((isMasked ? 4 : 0) + size, low)]);
}

const FRAMES = [frame(0), frame(2), frame(130), frame(0), frame(9_000), frame(70_000), frame(5), frame(65_535)];

async function write(socket: Duplex, bytes: Buffer, pieceBytes: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += pieceBytes) socket.write(bytes.subarray(at, at + pieceBytes));
}

for (const pieceBytes of [Number.POSITIVE_INFINITY, 16_384, 1_000, 7]) {
  test(`no record has bytes of two frames, written in pieces of ${pieceBytes} bytes`, async () => {
    const bytes = Buffer.concat([Buffer.from(HEAD), ...FRAMES]);
    await using it = await connected((_request, socket) => {
      separateRecords(socket);
      write(socket, bytes, pieceBytes);
    });
    const { client } = it;
    await untilTrue(() => client.received.length === bytes.length);
    assert.ok(client.received.equals(bytes));
    assert.deepEqual(client.frames, [HEAD.length, ...FRAMES.map((one) => one.length)]);
    assertApart(client);
  });
}

test("masked frames are told apart, too", async () => {
  const frames = [frame(3, true), frame(200, true), frame(0, true)];
  await using it = await connected((_request, socket) => {
    separateRecords(socket);
    socket.write(Buffer.concat([Buffer.from(HEAD), ...frames]));
  });
  const length = HEAD.length + Buffer.concat(frames).length;
  await untilTrue(() => it.client.received.length === length);
  assert.deepEqual(it.client.records, [HEAD.length, ...frames.map((one) => one.length)]);
});

test("a writer waits for a client that does not read, and learns that it is gone", async () => {
  let result: Error | null | undefined;
  let isWaiting = false;
  await using it = await connected((_request, socket) => {
    separateRecords(socket);
    socket.on("error", () => {});
    socket.write(HEAD);
    it.client.socket.pause();
    const many = Buffer.concat(Array.from({ length: 500 }, () => frame(60_000)));
    isWaiting = !socket.write(many, (error) => {
      result = error ?? null;
    });
  });
  await untilTrue(() => isWaiting);
  it.client.socket.destroy();
  await untilTrue(() => result !== undefined);
  assert.ok(result instanceof Error);
});
