import assert from "node:assert/strict";
import { constants, createDeflate, inflateSync } from "node:zlib";
import { test } from "vitest";
import { StreamError } from "../../../src/staging/streaming/bytes.js";
import { HEADER_DICTIONARY, HEADER_DICTIONARY_ID } from "../../../src/staging/streaming/spdy/dictionary.js";
import { FrameReader } from "../../../src/staging/streaming/spdy/frame-reader.js";
import {
  type ControlFrame,
  decodeControlFrame,
  encodeControlFrame,
  encodeDataHead,
} from "../../../src/staging/streaming/spdy/frames.js";
import {
  encodeHeaders,
  HeaderCompressor,
  HeaderDecompressor,
} from "../../../src/staging/streaming/spdy/header-block.js";
import { DEFAULT_SPDY_LIMITS } from "../../../src/staging/streaming/spdy/limits.js";

/**
 * One direction of a connection, byte by byte. The header blocks were made with Python's zlib (level 9, the dictionary,
 * a sync flush after each), so they refer back to each other.
 */
const WIRE: readonly (readonly [hex: string, frame: ControlFrame | { type: "DATA"; text: string; fin: boolean }])[] = [
  [
    "80030001 00000028 00000001 00000000 0000 78f9e3c6a7c202a62346703a2b294a4dcc851625aca9a08006000000ffff",
    { type: "SYN_STREAM", streamId: 1, headers: { streamtype: "error" }, fin: false, unidirectional: false },
  ],
  [
    "80030001 00000017 00000003 00000000 0000 c22e555c02cc2e00000000ffff",
    { type: "SYN_STREAM", streamId: 3, headers: { streamtype: "stdin" }, fin: false, unidirectional: false },
  ],
  ["00000003 00000005 68656c6c6f", { type: "DATA", text: "hello", fin: false }],
  [
    "80030001 0100002e 00000005 00000000 0000" +
      "0225550c295001940829cb8bc0d9c6c2c0c20048731641e23e139427180d00000000ffff",
    {
      type: "SYN_STREAM",
      streamId: 5,
      headers: { streamtype: "data", port: "8080", requestid: "0" },
      fin: true,
      unidirectional: false,
    },
  ],
  ["80030002 0000000d 00000003 02120c00000000ffff", { type: "SYN_REPLY", streamId: 3, headers: {}, fin: false }],
  [
    "80030008 01000016 00000003 821acd92970fce32cc890c4900000000ffff",
    { type: "HEADERS", streamId: 3, headers: { note: "a\0b" }, fin: true },
  ],
  ["80030003 00000008 00000003 00000005", { type: "RST_STREAM", streamId: 3, status: 5 }],
  [
    "80030004 00000014 00000002 00000004 00000064 01000007 00010000",
    {
      type: "SETTINGS",
      settings: [
        { id: 4, value: 100 },
        { id: 7, value: 65_536 },
      ],
    },
  ],
  ["80030006 00000004 00000002", { type: "PING", pingId: 2 }],
  ["80030009 00000008 00000000 00010000", { type: "WINDOW_UPDATE", streamId: 0, delta: 65_536 }],
  ["00000001 01000000", { type: "DATA", text: "", fin: true }],
  ["80030007 00000008 00000005 00000000", { type: "GOAWAY", lastStreamId: 5, status: 0 }],
];

const hex = (text: string) => Buffer.from(text.replace(/\s+/g, ""), "hex");
const wire = Buffer.concat(WIRE.map(([text]) => hex(text)));

function decodeAll(chunks: Iterable<Buffer>): unknown[] {
  const reader = new FrameReader(DEFAULT_SPDY_LIMITS);
  const decompressor = new HeaderDecompressor(65_536);
  const frames: unknown[] = [];
  let text = "";
  for (const chunk of chunks) {
    for (const part of reader.read(chunk)) {
      if (part.kind === "control") {
        const frame = decodeControlFrame(part.type, part.flags, part.body, decompressor);
        frames.push(frame !== undefined && "headers" in frame ? { ...frame, headers: { ...frame.headers } } : frame);
        continue;
      }
      text += part.piece.toString();
      if (!part.isLast) continue;
      frames.push({ type: "DATA", text, fin: part.fin });
      text = "";
    }
  }
  assert.equal(reader.isWithinFrame, false);
  return frames;
}

test("the dictionary is SPDY/3's: 1423 bytes with the Adler-32 by which zlib streams name it", () => {
  let [low, high] = [1, 0];
  for (const byte of HEADER_DICTIONARY) {
    low = (low + byte) % 65_521;
    high = (high + low) % 65_521;
  }
  assert.equal(HEADER_DICTIONARY.length, 1423);
  assert.equal(high * 65_536 + low, HEADER_DICTIONARY_ID);
});

for (const size of [1, 2, 3, 7, 8, 9, 64, wire.length]) {
  test(`frames are read from pieces of ${size} bytes`, () => {
    const chunks: Buffer[] = [];
    for (let at = 0; at < wire.length; at += size) chunks.push(wire.subarray(at, at + size));
    assert.deepEqual(
      decodeAll(chunks),
      WIRE.map(([, frame]) => frame),
    );
  });
}

test("encoded frames are decoded again, header blocks in their order", () => {
  const compressor = new HeaderCompressor();
  const encoded = WIRE.map(([, frame]) =>
    frame.type === "DATA"
      ? Buffer.concat([encodeDataHead(3, frame.text.length, frame.fin), Buffer.from(frame.text)])
      : encodeControlFrame(frame, compressor),
  );
  assert.deepEqual(
    decodeAll([Buffer.concat(encoded)]),
    WIRE.map(([, frame]) => frame),
  );
  for (const [at, [text, frame]] of WIRE.entries()) {
    // Compression of header blocks may vary, and the flags of settings are dropped.
    if (frame.type === "DATA" || "headers" in frame || frame.type === "SETTINGS") continue;
    assert.equal(encoded[at]?.toString("hex"), hex(text).toString("hex"));
  }
});

/** One compressing zlib stream, as upstream's peers have it: each block is flushed, and no block is the last. */
function deflater(): (headers: Readonly<Record<string, string>>) => Promise<Buffer> {
  const stream = createDeflate({ dictionary: HEADER_DICTIONARY });
  return (headers) =>
    new Promise((resolve) => {
      stream.write(encodeHeaders(headers));
      stream.flush(constants.Z_SYNC_FLUSH, () => resolve((stream.read() as Buffer | null) ?? Buffer.alloc(0)));
    });
}

test("compressed header blocks are read beyond deflate's window, and between stored ones", async () => {
  const deflate = deflater();
  const decompressor = new HeaderDecompressor(65_536);
  for (let at = 0; at < 400; at++) {
    const headers = { streamtype: "data", requestid: String(at), note: `${at}`.repeat(100) };
    const block = await deflate(headers);
    assert.ok(block.length < 200, `${block.length} bytes: it is compressed`);
    assert.deepEqual({ ...decompressor.decompress(block) }, headers);
  }
  const stored = Buffer.from(new HeaderCompressor().compress({ a: "stored" }).subarray(6));
  assert.deepEqual({ ...decompressor.decompress(stored) }, { a: "stored" });
});

test("zlib reads the blocks of a HeaderCompressor, also headers longer than one stored block", () => {
  const compressor = new HeaderCompressor();
  const sent: Buffer[] = [];
  const plain: Buffer[] = [];
  for (const headers of [{ streamtype: "error" }, {}, { note: "x".repeat(100_000) }, { streamtype: "stdout" }]) {
    sent.push(compressor.compress(headers));
    plain.push(encodeHeaders(headers));
    const read = inflateSync(Buffer.concat(sent), {
      dictionary: HEADER_DICTIONARY,
      finishFlush: constants.Z_SYNC_FLUSH,
    });
    assert.ok(read.equals(Buffer.concat(plain)));
  }
});

const BAD_FRAMES: readonly (readonly [what: string, hex: string, reason: RegExp])[] = [
  ["another version", "80020006 00000004 00000002", /version 2/],
  ["a control frame that is too large", "80030001 00020000", /control frame 1: a frame of 131072 bytes/],
  ["DATA of stream 0", "00000000 00000001 00", /stream id zero/],
  [
    "SYN_STREAM of stream 0",
    "80030001 00000015 00000000 00000000 0000 7801000400fbff00000000",
    /SYN_STREAM: stream id zero/,
  ],
  ["a SYN_STREAM without room for its fields", "80030001 00000004 00000001", /SYN_STREAM: a frame of 4 bytes/],
  ["a RST_STREAM that is too short", "80030003 00000004 00000001", /RST_STREAM/],
  ["RST_STREAM of stream 0", "80030003 00000008 00000000 00000005", /stream id zero/],
  ["a PING that is too long", "80030006 00000008 00000001 00000000", /PING/],
  ["a GOAWAY that is too short", "80030007 00000004 00000001", /GOAWAY/],
  ["a WINDOW_UPDATE that is too short", "80030009 00000004 00000001", /WINDOW_UPDATE/],
  ["SETTINGS that announce more than they have", "80030004 0000000c 00000002 00000004 00000064", /SETTINGS/],
  ["SETTINGS without a count", "80030004 00000002 0000", /SETTINGS/],
  ["headers that are not compressed", "80030002 00000008 00000001 00000000", /not compressed with zlib/],
  ["headers of an unknown dictionary", "80030002 0000000c 00000001 78f9 00000001 0000", /another dictionary/],
  ["a broken deflate stream", "80030002 0000000e 00000001 78f9 e3c6a7c2 ffffffff", /not compressed with zlib/],
];

for (const [what, text, reason] of BAD_FRAMES) {
  test(`refused: ${what}`, () => {
    assert.throws(
      () => decodeAll([hex(text)]),
      (error) => error instanceof StreamError && reason.test(error.message),
    );
  });
}

/**
 * Header blocks as stored deflate blocks, which can be written by hand: zlib's head without a dictionary, 00, lengths.
 */
function storedBlock(plain: string): Buffer {
  const bytes = hex(plain);
  const lengths = Buffer.alloc(4);
  lengths.writeUInt16LE(bytes.length, 0);
  lengths.writeUInt16LE(~bytes.length & 0xffff, 2);
  return Buffer.concat([hex("7801 00"), lengths, bytes]);
}

const HEADER_BLOCKS: readonly (readonly [what: string, plain: string, want: Record<string, string> | RegExp])[] = [
  ["nothing", "00000000", {}],
  ["a name and its value", "00000001 00000001 61 00000002 6263", { a: "bc" }],
  ["an empty value", "00000001 00000001 61 00000000", { a: "" }],
  ["a name of every object", `00000001 00000009 ${Buffer.from("__proto__").toString("hex")} 00000001 61`, /./],
  ["the same name twice", "00000002 00000001 61 00000000 00000001 61 00000000", /multiple headers with same name/],
  ["a capital letter", "00000001 00000001 41 00000000", /not lowercased/],
  ["fewer than announced", "00000002 00000001 61 00000000", /middle of a length/],
  ["more than announced", "00000000 00", /1 extra bytes/],
  ["a length beyond the end", "00000001 7fffffff 61", /2147483647 bytes announced/],
  ["no count", "0000", /middle of a length/],
];

for (const [what, plain, want] of HEADER_BLOCKS) {
  test(`a header block with ${what}`, () => {
    const read = () => ({ ...new HeaderDecompressor(1024).decompress(storedBlock(plain)) });
    if (what === "a name of every object") assert.equal(Object.keys(read()).length, 1);
    else if (want instanceof RegExp)
      assert.throws(read, (error) => error instanceof StreamError && want.test(error.message));
    else assert.deepEqual(read(), want);
  });
}

test("a header block that would inflate too much is refused before it does", async () => {
  const bomb = await deflater()({ a: "\0".repeat(10_000_000) });
  assert.ok(bomb.length < 65_536, `${bomb.length} bytes on the wire`);
  const stored = new HeaderCompressor().compress({ a: "x".repeat(65_537) });
  for (const block of [bomb, stored]) {
    assert.throws(() => new HeaderDecompressor(65_536).decompress(block), /larger than 65536 bytes when inflated/);
  }
});
