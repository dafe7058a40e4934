import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { SpdyConnection } from "../../../src/staging/streaming/spdy/connection.js";
import type { SpdyStream } from "../../../src/staging/streaming/spdy/stream.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { bytesOf, connectionPair, memoryPair, withRawPeer } from "./spdy-support.js";

/** Waits until a count no longer changes. */
async function stalled(count: () => number): Promise<number> {
  for (let before = -1; before !== count(); ) {
    before = count();
    await settle(20);
  }
  return count();
}

async function pairInMemory() {
  const { near, far } = memoryPair();
  const clock = new FakeClock();
  const client = new SpdyConnection(near, "client", { clock });
  const server = new SpdyConnection(far, "server", { clock });
  const taken = server.streams[Symbol.asyncIterator]();
  const next = async () => {
    const stream = (await taken.next()).value as SpdyStream;
    stream.accept();
    return stream;
  };
  return { client, server, near, next };
}

/** The most that both sides hold of an unread stream: 256 KiB each, and a few frames. */
const MAX_HELD_BYTES = 768 * 1024;

for (const size of [1, 100, 5_000, 65_536, 10_000_000]) {
  test(`a reader that does not read stops a writer of ${size} bytes at a time`, async () => {
    const { client, server, near, next } = await pairInMemory();
    const [stream, reading] = await Promise.all([client.open({ streamtype: "stdin" }), next()]);
    const total = Math.max(size, size < 100 ? 40_000 : 4_000_000);
    let writtenBytes = 0;
    const writing = (async () => {
      for (; writtenBytes < total; writtenBytes += size) await stream.write(Buffer.alloc(size, 1));
      await stream.end();
    })();
    const held = await stalled(() => reading.inbox.weight);
    assert.ok(held > 0 && held < MAX_HELD_BYTES, `${held} bytes are held`);
    assert.ok(near.writableLength < MAX_HELD_BYTES, `${near.writableLength} bytes wait to be sent`);
    assert.ok(writtenBytes < MAX_HELD_BYTES * 2, `${writtenBytes} bytes were taken`);
    const received = await bytesOf(reading.incoming);
    await writing;
    assert.equal(received.length, Math.ceil(total / size) * size);
    await Promise.all([client.close(), server.close()]);
  });
}

test("a slow reader gets everything, even after the peer has closed", async () => {
  const { client, server, next } = await pairInMemory();
  const [stream, reading] = await Promise.all([client.open({}), next()]);
  await stream.write(Buffer.alloc(100_000, 7));
  await stream.end();
  await client.finish();
  assert.equal(await server.closed, undefined);
  assert.equal((await bytesOf(reading.incoming)).length, 100_000);
});

test("leaving a read loop early drops the rest, and the connection continues", async () => {
  const { client, server, next } = await pairInMemory();
  const [first, firstEnd] = await Promise.all([client.open({}), next()]);
  const writing = (async () => {
    for (let at = 0; at < 100; at++) await first.write(Buffer.alloc(65_536));
    await first.end();
  })();
  for await (const piece of firstEnd.incoming) if (piece.length > 0) break;
  await writing;
  const [second, secondEnd] = await Promise.all([client.open({}), next()]);
  await second.write(Buffer.from("here"));
  await second.end();
  assert.equal((await bytesOf(secondEnd.incoming)).toString(), "here");
  await Promise.all([client.close(), server.close()]);
});

test("keeping one byte of a frame does not keep the rest in memory", async () => {
  const { client, server, next } = await pairInMemory();
  const [kept, keptEnd] = await Promise.all([client.open({}), next()]);
  const [read, readEnd] = await Promise.all([client.open({}), next()]);
  const reading = bytesOf(readEnd.incoming);
  for (let at = 0; at < 100; at++) {
    await kept.write(Buffer.from([at]));
    await read.write(Buffer.alloc(60_000));
  }
  await Promise.all([kept.end(), read.end()]);
  await reading;
  let heldBytes = 0;
  for await (const piece of keptEnd.incoming) heldBytes += piece.buffer.byteLength;
  assert.ok(heldBytes < 10_000, `${heldBytes} bytes of memory for 100`);
  await Promise.all([client.close(), server.close()]);
});

test("reading stops for a peer that does not read the answers", async () => {
  const { connection, peer } = await withRawPeer("server");
  peer.socket.pause();
  const ping = Buffer.from("800300060000000400000001", "hex");
  const many = Buffer.concat(Array.from({ length: 10_000 }, () => ping));
  let sentBytes = 0;
  let isFull = false;
  // Until both directions have filled the system's buffers.
  for (let at = 0; at < 400 && !isFull; at++) {
    sentBytes += many.length;
    isFull = !peer.socket.write(many);
    if (!isFull) continue;
    const drained = new Promise<void>((resolve) => peer.socket.once("drain", resolve)).then(() => {
      isFull = false;
    });
    await Promise.race([drained, stalled(() => peer.socket.bytesWritten)]);
  }
  assert.ok(isFull, `${sentBytes} bytes of questions were taken`);
  peer.socket.destroy();
  await connection.close();
});

const message = fc.record({
  from: fc.constantFrom("client", "server"),
  stream: fc.nat(4),
  size: fc.oneof(fc.nat(200), fc.nat(70_000), fc.constantFrom(65_535, 65_536, 65_537, 200_000)),
});

test("concurrent streams over a socket: everything arrives, in order, both ways", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 60 }), fc.boolean(), async (messages, isServerSlow) => {
      await using pair = await connectionPair();
      const ends: { client: SpdyStream; server: SpdyStream }[] = [];
      const taken = pair.server.streams[Symbol.asyncIterator]();
      for (let at = 0; at < 5; at++) {
        const opening = pair.client.open({ streamtype: "data", requestid: String(at) });
        const server = (await taken.next()).value as SpdyStream;
        server.accept();
        ends.push({ client: await opening, server });
      }
      const sent = ends.map(() => ({ client: [] as Buffer[], server: [] as Buffer[] }));
      const received = ends.map(async ({ client, server }) => {
        const slow = async function* () {
          for await (const piece of server.incoming) {
            if (isServerSlow) await settle(1);
            yield piece;
          }
        };
        const [atClient, atServer] = await Promise.all([bytesOf(client.incoming), bytesOf(slow())]);
        return { client: atClient, server: atServer };
      });
      const writes = messages.map(({ from, stream, size }, index) => {
        const bytes = Buffer.alloc(size, index + 1);
        const side = from === "client" ? "client" : "server";
        sent[stream]?.[side].push(bytes);
        // Not awaited one by one: the stream must keep their order.
        return ends[stream]?.[side].write(bytes);
      });
      await Promise.all(writes);
      await Promise.all(ends.flatMap(({ client, server }) => [client.end(), server.end()]));
      for (const [at, got] of (await Promise.all(received)).entries()) {
        assert.ok(got.server.equals(Buffer.concat(sent[at]?.client ?? [])));
        assert.ok(got.client.equals(Buffer.concat(sent[at]?.server ?? [])));
      }
    }),
    { numRuns: 25 },
  );
});
