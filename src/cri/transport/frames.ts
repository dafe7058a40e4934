/** HTTP/2 frames (RFC 9113, section 6): a head of nine bytes, then as many as it says. */

export const FRAME_HEAD_BYTES = 9;
/** The largest payload that we send and take: what every implementation must take without asking. */
export const MAX_FRAME_BYTES = 16_384;

export const FrameType = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

export const Flag = { END_STREAM: 1, ACK: 1, END_HEADERS: 4, PADDED: 8, PRIORITY: 32 } as const;

export const Setting = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
} as const;

export const ErrorCode = {
  NO_ERROR: 0,
  FLOW_CONTROL_ERROR: 3,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  ENHANCE_YOUR_CALM: 11,
  INADEQUATE_SECURITY: 12,
} as const;

/** What arrives breaks the rules of the protocol: the connection is of no use any more. */
export class Http2Error extends Error {
  override readonly name = "Http2Error";
}

/** What a client says first. */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export function writeFrameHead(
  into: Buffer,
  at: number,
  length: number,
  type: number,
  flags: number,
  stream: number,
): void {
  into[at] = length >> 16;
  into[at + 1] = length >> 8;
  into[at + 2] = length;
  into[at + 3] = type;
  into[at + 4] = flags;
  into[at + 5] = stream >> 24;
  into[at + 6] = stream >> 16;
  into[at + 7] = stream >> 8;
  into[at + 8] = stream;
}

export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEAD_BYTES + payload.length);
  writeFrameHead(bytes, 0, payload.length, type, flags, stream);
  payload.copy(bytes, FRAME_HEAD_BYTES);
  return bytes;
}

export function settingsFrame(settings: readonly (readonly [setting: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(settings.length * 6);
  settings.forEach(([setting, value], i) => {
    payload.writeUInt16BE(setting, i * 6);
    payload.writeUInt32BE(value, i * 6 + 2);
  });
  return frame(FrameType.SETTINGS, 0, 0, payload);
}

/** A frame whose payload is one number: WINDOW_UPDATE, RST_STREAM. */
export function numberFrame(type: number, stream: number, value: number): Buffer {
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32BE(value);
  return frame(type, 0, stream, payload);
}

/** The number in such a frame, or at the beginning of another one. */
export function numberOf(payload: Buffer): number {
  if (payload.length < 4) throw new Http2Error("a frame that is too short");
  return payload.readUInt32BE();
}

/** What a reader of frames tells. The bytes, from `from` to `to`, hold only during the call: nothing is copied. */
export interface FrameSink {
  /** a piece of a DATA frame, as it comes; `length`: what it counts against the windows */
  data(stream: number, bytes: Buffer, from: number, to: number, length: number): void;
  /** the last piece of a DATA frame was told */
  dataEnd(stream: number, flags: number): void;
  /** any other frame, whole */
  frame(type: number, flags: number, stream: number, bytes: Buffer, from: number, to: number): void;
}

/** Cuts what arrives into frames. Pieces of data are passed on as they come; only small frames are ever put together. */
export class FrameReader {
  /** a head that came in pieces, so far */
  readonly #head = Buffer.alloc(FRAME_HEAD_BYTES);
  #headBytes = 0;
  #isWithinFrame = false;
  #type = 0;
  #flags = 0;
  #stream = 0;
  /** of the payload, still to come */
  #missing = 0;
  /** a payload that came in pieces, so far */
  #pieces: Buffer[] = [];

  constructor(readonly sink: FrameSink) {}

  /** @throws Http2Error when this is no HTTP/2 */
  read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length || (this.#isWithinFrame && this.#missing === 0)) {
      if (this.#isWithinFrame) {
        const to = Math.min(chunk.length, at + this.#missing);
        this.#missing -= to - at;
        this.#payload(chunk, at, to);
        at = to;
      } else if (this.#headBytes === 0 && at + FRAME_HEAD_BYTES <= chunk.length) {
        this.#begin(chunk, at);
        at += FRAME_HEAD_BYTES;
      } else {
        this.#head[this.#headBytes++] = chunk[at++] as number;
        if (this.#headBytes === FRAME_HEAD_BYTES) this.#begin(this.#head, 0);
      }
    }
  }

  #begin(bytes: Buffer, at: number): void {
    const length = ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
    if (length > MAX_FRAME_BYTES) throw new Http2Error(`a frame of ${length} bytes`);
    this.#type = bytes[at + 3] as number;
    this.#flags = bytes[at + 4] as number;
    this.#stream = uint32(bytes, at + 5) & 0x7fffffff;
    this.#missing = length;
    this.#headBytes = 0;
    this.#isWithinFrame = true;
  }

  /** Takes a piece of a payload, which is its last one when nothing is missing any more. */
  #payload(bytes: Buffer, from: number, to: number): void {
    this.#isWithinFrame = this.#missing > 0;
    // Padding would have to be cut off: such frames, which hardly anybody sends, are put together first.
    if (this.#type === FrameType.DATA && (this.#flags & Flag.PADDED) === 0) {
      this.sink.data(this.#stream, bytes, from, to, to - from);
      if (!this.#isWithinFrame) this.sink.dataEnd(this.#stream, this.#flags);
    } else if (this.#isWithinFrame) this.#pieces.push(Buffer.from(bytes.subarray(from, to)));
    else if (this.#pieces.length === 0) this.#whole(bytes, from, to);
    else {
      const payload = Buffer.concat([...this.#pieces, bytes.subarray(from, to)]);
      this.#pieces = [];
      this.#whole(payload, 0, payload.length);
    }
  }

  #whole(bytes: Buffer, from: number, to: number): void {
    if (this.#type === FrameType.DATA) {
      const data = withoutPadding(bytes.subarray(from, to), this.#flags);
      this.sink.data(this.#stream, data, 0, data.length, to - from);
      this.sink.dataEnd(this.#stream, this.#flags);
    } else this.sink.frame(this.#type, this.#flags, this.#stream, bytes, from, to);
  }
}

/** Four bytes, most significant first. Buffer has a method for it, which takes five times as long to check its arguments. */
export function uint32(bytes: Buffer, at: number): number {
  const high = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
  return high * 65_536 + (((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number));
}

/** The payload of a DATA or HEADERS frame without what its flags put around it. */
export function withoutPadding(payload: Buffer, flags: number, extraBytes = 0): Buffer {
  const isPadded = (flags & Flag.PADDED) !== 0;
  const padding = isPadded ? (payload[0] ?? 0) : 0;
  const start = (isPadded ? 1 : 0) + extraBytes;
  if (start + padding > payload.length) throw new Http2Error("a frame that is all padding");
  return payload.subarray(start, payload.length - padding);
}
