import { StreamError } from "../bytes.js";
import type { HeaderCompressor, HeaderDecompressor, SpdyHeaders } from "./header-block.js";

/** Mirrors github.com/moby/spdystream/spdy/types.go (Version). */
export const SPDY_VERSION = 3;

/** Mirrors github.com/moby/spdystream/spdy/types.go (ControlFrameType). */
const FRAME_TYPE = {
  SYN_STREAM: 1,
  SYN_REPLY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PING: 6,
  GOAWAY: 7,
  HEADERS: 8,
  WINDOW_UPDATE: 9,
} as const;

/** Why a stream was reset. Mirrors github.com/moby/spdystream/spdy/types.go (RstStreamStatus). */
export const RESET_STATUS = {
  PROTOCOL_ERROR: 1,
  INVALID_STREAM: 2,
  REFUSED_STREAM: 3,
  UNSUPPORTED_VERSION: 4,
  CANCEL: 5,
  INTERNAL_ERROR: 6,
  FLOW_CONTROL_ERROR: 7,
  STREAM_IN_USE: 8,
  STREAM_ALREADY_CLOSED: 9,
  INVALID_CREDENTIALS: 10,
  FRAME_TOO_LARGE: 11,
} as const;
export type ResetStatus = (typeof RESET_STATUS)[keyof typeof RESET_STATUS];

/** Mirrors github.com/moby/spdystream/spdy/types.go (GoAwayStatus). */
export const GOAWAY_STATUS = { OK: 0, PROTOCOL_ERROR: 1, INTERNAL_ERROR: 2 } as const;
export type GoAwayStatus = (typeof GOAWAY_STATUS)[keyof typeof GOAWAY_STATUS];

/** The setting for the initial window of new streams, in bytes. */
export const SETTING_INITIAL_WINDOW_SIZE = 7;

const FLAG_FIN = 0x01;
/** flag of SYN_STREAM: the other side will not send anything */
const FLAG_UNIDIRECTIONAL = 0x02;
export const FRAME_HEAD_BYTES = 8;
const CONTROL_BIT = 0x80000000;
const ID_MASK = 0x7fffffff;

/** A control frame with its meaning. `streamId` 0 of a WINDOW_UPDATE is the whole connection. */
export type ControlFrame =
  | {
      readonly type: "SYN_STREAM";
      readonly streamId: number;
      readonly headers: SpdyHeaders;
      readonly fin: boolean;
      readonly unidirectional: boolean;
    }
  | {
      readonly type: "SYN_REPLY" | "HEADERS";
      readonly streamId: number;
      readonly headers: SpdyHeaders;
      readonly fin: boolean;
    }
  | { readonly type: "RST_STREAM"; readonly streamId: number; readonly status: number }
  | { readonly type: "SETTINGS"; readonly settings: readonly { readonly id: number; readonly value: number }[] }
  | { readonly type: "PING"; readonly pingId: number }
  | { readonly type: "GOAWAY"; readonly lastStreamId: number; readonly status: number }
  | { readonly type: "WINDOW_UPDATE"; readonly streamId: number; readonly delta: number };

/** @returns the frame's bytes; header blocks must be sent in the order in which they were encoded */
export function encodeControlFrame(frame: ControlFrame, compressor: HeaderCompressor): Buffer {
  switch (frame.type) {
    case "SYN_STREAM": {
      const flags = (frame.fin ? FLAG_FIN : 0) | (frame.unidirectional ? FLAG_UNIDIRECTIONAL : 0);
      // Ten bytes: the ID, no associated stream, priority 0, no slot, as spdystream sends them.
      return control(FRAME_TYPE.SYN_STREAM, flags, [frame.streamId, 0], [0, 0], compressor.compress(frame.headers));
    }
    case "SYN_REPLY":
    case "HEADERS":
      return control(
        FRAME_TYPE[frame.type],
        frame.fin ? FLAG_FIN : 0,
        [frame.streamId],
        [],
        compressor.compress(frame.headers),
      );
    case "RST_STREAM":
      return control(FRAME_TYPE.RST_STREAM, 0, [frame.streamId, frame.status]);
    case "SETTINGS":
      return control(FRAME_TYPE.SETTINGS, 0, [
        frame.settings.length,
        ...frame.settings.flatMap(({ id, value }) => [id, value]),
      ]);
    case "PING":
      return control(FRAME_TYPE.PING, 0, [frame.pingId]);
    case "GOAWAY":
      return control(FRAME_TYPE.GOAWAY, 0, [frame.lastStreamId, frame.status]);
    case "WINDOW_UPDATE":
      return control(FRAME_TYPE.WINDOW_UPDATE, 0, [frame.streamId, frame.delta]);
  }
}

function control(
  type: number,
  flags: number,
  words: readonly number[],
  bytes: readonly number[] = [],
  rest?: Buffer,
): Buffer {
  const length = words.length * 4 + bytes.length + (rest?.length ?? 0);
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + length);
  frame.writeUInt16BE(0x8000 | SPDY_VERSION, 0);
  frame.writeUInt16BE(type, 2);
  frame.writeUInt32BE(((flags << 24) | length) >>> 0, 4);
  let at = FRAME_HEAD_BYTES;
  for (const word of words) at = frame.writeUInt32BE(word, at);
  for (const byte of bytes) at = frame.writeUInt8(byte, at);
  rest?.copy(frame, at);
  return frame;
}

/** The eight bytes before a DATA frame's payload. */
export function encodeDataHead(streamId: number, length: number, fin: boolean): Buffer {
  const head = Buffer.allocUnsafe(FRAME_HEAD_BYTES);
  head.writeUInt32BE(streamId, 0);
  head.writeUInt32BE(((fin ? FLAG_FIN << 24 : 0) | length) >>> 0, 4);
  return head;
}

/** The content of a frame's first eight bytes. */
export type FrameHead =
  | { readonly kind: "data"; readonly streamId: number; readonly fin: boolean; readonly length: number }
  | {
      readonly kind: "control";
      readonly version: number;
      readonly type: number;
      readonly flags: number;
      readonly length: number;
    };

export function decodeFrameHead(bytes: Buffer, at: number): FrameHead {
  const word = bytes.readUInt32BE(at);
  const flags = bytes.readUInt8(at + 4);
  const length = bytes.readUIntBE(at + 5, 3);
  if (word < CONTROL_BIT) return { kind: "data", streamId: word, fin: (flags & FLAG_FIN) !== 0, length };
  return { kind: "control", version: (word >>> 16) & 0x7fff, type: word & 0xffff, flags, length };
}

/**
 * @param body the bytes after the head
 * @returns undefined for an unknown frame type, which is skipped
 * @throws StreamError if the body does not fit the type
 */
export function decodeControlFrame(
  type: number,
  flags: number,
  body: Buffer,
  decompressor: HeaderDecompressor,
): ControlFrame | undefined {
  const fin = (flags & FLAG_FIN) !== 0;
  switch (type) {
    case FRAME_TYPE.SYN_STREAM: {
      need("SYN_STREAM", body.length >= 10, body);
      const headers = decompressor.decompress(body.subarray(10));
      return {
        type: "SYN_STREAM",
        streamId: id("SYN_STREAM", body),
        headers,
        fin,
        unidirectional: (flags & FLAG_UNIDIRECTIONAL) !== 0,
      };
    }
    case FRAME_TYPE.SYN_REPLY:
    case FRAME_TYPE.HEADERS: {
      const name = type === FRAME_TYPE.HEADERS ? "HEADERS" : "SYN_REPLY";
      need(name, body.length >= 4, body);
      return { type: name, streamId: id(name, body), headers: decompressor.decompress(body.subarray(4)), fin };
    }
    case FRAME_TYPE.RST_STREAM:
      need("RST_STREAM", body.length === 8, body);
      return { type: "RST_STREAM", streamId: id("RST_STREAM", body), status: body.readUInt32BE(4) };
    case FRAME_TYPE.SETTINGS:
      return { type: "SETTINGS", settings: decodeSettings(body) };
    case FRAME_TYPE.PING:
      need("PING", body.length === 4, body);
      return { type: "PING", pingId: body.readUInt32BE(0) };
    case FRAME_TYPE.GOAWAY:
      need("GOAWAY", body.length === 8, body);
      return { type: "GOAWAY", lastStreamId: body.readUInt32BE(0) & ID_MASK, status: body.readUInt32BE(4) };
    case FRAME_TYPE.WINDOW_UPDATE:
      need("WINDOW_UPDATE", body.length === 8, body);
      return { type: "WINDOW_UPDATE", streamId: body.readUInt32BE(0) & ID_MASK, delta: body.readUInt32BE(4) & ID_MASK };
    default:
      return undefined;
  }
}

function decodeSettings(body: Buffer): { id: number; value: number }[] {
  need("SETTINGS", body.length >= 4 && body.length === 4 + body.readUInt32BE(0) * 8, body);
  const settings: { id: number; value: number }[] = [];
  for (let at = 4; at < body.length; at += 8) {
    settings.push({ id: body.readUIntBE(at + 1, 3), value: body.readUInt32BE(at + 4) });
  }
  return settings;
}

function id(name: string, body: Buffer): number {
  const streamId = body.readUInt32BE(0) & ID_MASK;
  if (streamId === 0) throw new StreamError(`${name}: stream id zero is disallowed`);
  return streamId;
}

function need(name: string, isRight: boolean, body: Buffer): void {
  if (!isRight) throw new StreamError(`${name}: a frame of ${body.length} bytes is invalid`);
}
