import assert from "node:assert/strict";
import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, test } from "vitest";
import { StreamError } from "../../../src/staging/streaming/bytes.js";
import { SpdyConnection } from "../../../src/staging/streaming/spdy/connection.js";
import { type ControlFrame, encodeControlFrame, encodeDataHead } from "../../../src/staging/streaming/spdy/frames.js";
import { HeaderCompressor } from "../../../src/staging/streaming/spdy/header-block.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { bytesOf as bytesOfStream, memoryPair } from "./spdy-support.js";

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => unhandled.push(reason);
beforeAll(() => {
  process.on("unhandledRejection", onUnhandled);
});
afterAll(() => {
  process.off("unhandledRejection", onUnhandled);
  assert.deepEqual(unhandled, []);
});

const LIMITS = { maxStreams: 8, maxBufferedBytes: 16_384, maxConnectionBufferedBytes: 65_536, maxHeaderBytes: 4_096 };
/** The tolerance above the limits: one chunk that was being read, with its overhead. */
const SLACK_BYTES = 300_000;

/** Feeds these bytes to a connection and ends it, while the test reads, writes and opens streams. */
async function feed(
  role: "client" | "server",
  chunks: readonly Uint8Array[],
  isRead: boolean,
): Promise<StreamError | undefined> {
  const { near, far } = memoryPair();
  const clock = new FakeClock();
  const connection = new SpdyConnection(near, role, { clock, observer: () => {} }, { limits: LIMITS });
  const using = (async () => {
    const uses: Promise<unknown>[] = [];
    for await (const stream of connection.streams) {
      stream.accept();
      if (!isRead) continue;
      uses.push(
        Promise.allSettled([stream.write(Buffer.from("answer")), stream.end(), bytesOfStream(stream.incoming)]),
      );
    }
    await Promise.allSettled(uses);
  })();
  const opening = connection
    .open({ streamtype: "error" })
    .then((stream) => stream.write(Buffer.from("x")))
    .catch(() => {
      // The peer's bytes refuse it, or contain no answer.
    });
  far.on("data", () => {
    // A sender of garbage may still read the answers.
  });
  far.on("error", () => {
    // Destroyed from the other side.
  });
  for (const chunk of chunks) {
    if (far.destroyed || far.writableEnded) break;
    far.write(chunk);
    await settle(1);
    assert.ok(connection.bufferedBytes < LIMITS.maxConnectionBufferedBytes + SLACK_BYTES);
  }
  far.end();
  await settle(3);
  if (!isRead) {
    // An unread connection never sees its end, so it is closed here.
    void connection.close();
    await clock.advance(1_000);
  }
  await clock.advance(31_000);
  const reason = await connection.closed;
  await Promise.all([using, opening]);
  assert.equal(clock.sleeping, 0);
  assert.ok(near.destroyed);
  assert.ok(reason === undefined || (reason instanceof StreamError && reason.message !== ""));
  assert.ok(!(reason?.message ?? "").startsWith("internal error"), `${reason?.message} ${String(reason?.cause)}`);
  return reason;
}

const headers = fc.dictionary(
  fc.constantFrom("streamtype", "port", "requestid", "a", "constructor"),
  fc.oneof(fc.constantFrom("error", "data", "8080", "", "a\0b"), fc.string({ maxLength: 300 })),
  { maxKeys: 4 },
);
const id = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(0, 0x7fffffff), fc.nat(0x7fffffff));
const uint = fc.oneof(fc.nat(20), fc.constantFrom(0x7fffffff, 0xffffffff));
const control: fc.Arbitrary<ControlFrame> = fc.oneof(
  fc.record({
    type: fc.constant("SYN_STREAM" as const),
    streamId: id,
    headers,
    fin: fc.boolean(),
    unidirectional: fc.boolean(),
  }),
  fc.record({
    type: fc.constantFrom("SYN_REPLY" as const, "HEADERS" as const),
    streamId: id,
    headers,
    fin: fc.boolean(),
  }),
  fc.record({ type: fc.constant("RST_STREAM" as const), streamId: id, status: uint }),
  fc.record({ type: fc.constant("SETTINGS" as const), settings: fc.array(fc.record({ id: fc.nat(9), value: uint })) }),
  fc.record({ type: fc.constant("PING" as const), pingId: uint }),
  fc.record({ type: fc.constant("GOAWAY" as const), lastStreamId: id, status: uint }),
  fc.record({ type: fc.constant("WINDOW_UPDATE" as const), streamId: id, delta: uint }),
);
const data = fc.record({
  type: fc.constant("DATA" as const),
  streamId: id,
  bytes: fc.uint8Array({ maxLength: 3_000 }),
  fin: fc.boolean(),
});
const frame = fc.oneof({ weight: 3, arbitrary: control }, { weight: 2, arbitrary: data });

function encodeAll(
  frames: readonly (ControlFrame | { type: "DATA"; streamId: number; bytes: Uint8Array; fin: boolean })[],
): Buffer {
  const compressor = new HeaderCompressor();
  return Buffer.concat(
    frames.flatMap((one) =>
      one.type === "DATA"
        ? [encodeDataHead(one.streamId, one.bytes.length, one.fin), one.bytes]
        : [encodeControlFrame(one, compressor)],
    ),
  );
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    if (at >= bytes.length) break;
    chunks.push(Buffer.from(bytes.subarray(at, at + size)));
    at += size;
  }
  return at < bytes.length ? [...chunks, Buffer.from(bytes.subarray(at))] : chunks;
}

const role = fc.constantFrom("client" as const, "server" as const);
const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 20 });

test("random bytes at most close the connection", async () => {
  await fc.assert(
    fc.asyncProperty(
      role,
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 400 }), { maxLength: 5 }),
      async (side, chunks) => {
        await feed(side, chunks, true);
      },
    ),
    { numRuns: 200 },
  );
});

test("frames in any order, from either side, cut anywhere, at most close the connection", async () => {
  await fc.assert(
    fc.asyncProperty(
      role,
      fc.array(frame, { maxLength: 25 }),
      sizes,
      fc.boolean(),
      async (side, frames, cuts, isRead) => {
        await feed(side, cut(encodeAll(frames), cuts), isRead);
      },
    ),
    { numRuns: 300 },
  );
});

test("truncated or corrupted frames at most close the connection", async () => {
  const change = fc.record({ at: fc.nat(), bit: fc.nat(7) });
  await fc.assert(
    fc.asyncProperty(
      role,
      fc.array(frame, { minLength: 1, maxLength: 12 }),
      fc.array(change, { maxLength: 4 }),
      fc.nat(),
      async (side, frames, changes, end) => {
        const bytes = encodeAll(frames);
        for (const { at, bit } of changes) bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ (1 << bit);
        await feed(side, [bytes.subarray(0, end % (bytes.length + 1))], true);
      },
    ),
    { numRuns: 300 },
  );
});

const HEAD = Buffer.from("78f9e3c6a7c2", "hex");
function synStream(block: Buffer): Buffer {
  const head = Buffer.from("8003000100000000000000010000000000000", "hex").subarray(0, 8);
  const frame = Buffer.concat([head, Buffer.from("00000001000000000000", "hex"), block]);
  frame.writeUIntBE(frame.length - 8, 5, 3);
  return frame;
}

const BOMBS: readonly (readonly [what: string, bytes: Buffer, reason: RegExp])[] = [
  [
    "a header block of 40 MB",
    synStream(Buffer.concat([HEAD, deflateRawSync(Buffer.alloc(40_000_000))])),
    /when inflated/,
  ],
  ["a control frame of 16 MB", Buffer.from("80030001 00ffffff".replace(" ", ""), "hex"), /16777215 bytes/],
  [
    "a header with 4 billion names",
    synStream(Buffer.concat([HEAD, deflateRawSync(Buffer.from("ffffffff", "hex"))])),
    /middle of a length/,
  ],
  ["a web page", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), /./],
  ["an end in the middle of a frame", Buffer.from("8003000100", "hex"), /the peer closed the connection/],
];
for (const [what, bytes, reason] of BOMBS) {
  test(`${what}: closed, with a reason`, async () => {
    const before = process.memoryUsage().arrayBuffers;
    assert.match((await feed("server", [bytes], true))?.message ?? "", reason);
    assert.ok(process.memoryUsage().arrayBuffers - before < 45_000_000);
  });
}
