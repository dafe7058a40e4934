import assert from "node:assert/strict";
import { encodeDataHead } from "../../../src/staging/streaming/spdy/frames.js";
import type { SpdyStream } from "../../../src/staging/streaming/spdy/stream.js";
import type { RawPeer } from "./spdy-support.js";

/** The first stream that the peer opens. */
export async function firstOf(streams: AsyncIterable<SpdyStream>): Promise<SpdyStream> {
  const { value } = await streams[Symbol.asyncIterator]().next();
  assert.ok(value !== undefined);
  return value as SpdyStream;
}

/** A frame that opens a stream. */
export const synStream = (streamId: number, headers: Record<string, string> = {}) =>
  ({ type: "SYN_STREAM", streamId, headers, fin: false, unidirectional: false }) as const;
/** A DATA frame with text. */
export const data = (streamId: number, text: string, fin = false) =>
  Buffer.concat([encodeDataHead(streamId, Buffer.byteLength(text), fin), Buffer.from(text)]);

/** Skips frames of other types. */
export async function nextOfType(peer: RawPeer, type: string) {
  for (let frame = await peer.next(); frame !== undefined; frame = await peer.next())
    if (frame.type === type) return frame;
  throw new Error(`the connection ended without a ${type}`);
}
