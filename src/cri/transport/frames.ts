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

/** What a reader of frames tells. Buffers are views that hold only during the call. */
export interface FrameSink {
  /** a piece of a DATA frame, as it comes; `length`: what it counts against the windows */
  data(stream: number, piece: Buffer, length: number): void;
  /** the last piece of a DATA frame was told */
  dataEnd(stream: number, flags: number): void;
  /** any other frame, whole */
  frame(type: number, flags: number, stream: number, payload: Buffer): void;
}

/** Cuts what arrives into frames. Pieces of data are passed on as they come; only small frames are ever put together. */
export class FrameReader {
  readonly #head = Buffer.alloc(FRAME_HEAD_BYTES);
  #headBytes = 0;
  #length = 0;
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
    while (at < chunk.length) {
      if (this.#headBytes < FRAME_HEAD_BYTES) {
        at = this.#readHead(chunk, at);
        if (this.#headBytes < FRAME_HEAD_BYTES || this.#missing > 0) continue;
        this.#finish(chunk.subarray(at, at));
        continue;
      }
      const end = Math.min(chunk.length, at + this.#missing);
      const piece = chunk.subarray(at, end);
      this.#missing -= piece.length;
      at = end;
      if (this.#isPassedOn) {
        this.sink.data(this.#stream, piece, piece.length);
        if (this.#missing === 0) this.#finish(piece);
      } else if (this.#missing === 0) this.#finish(piece);
      else this.#pieces.push(Buffer.from(piece));
    }
  }

  /** Padding would have to be cut off: such frames, which hardly anybody sends, are put together first. */
  get #isPassedOn(): boolean {
    return this.#type === FrameType.DATA && (this.#flags & Flag.PADDED) === 0;
  }

  #readHead(chunk: Buffer, at: number): number {
    const count = Math.min(chunk.length - at, FRAME_HEAD_BYTES - this.#headBytes);
    chunk.copy(this.#head, this.#headBytes, at, at + count);
    this.#headBytes += count;
    if (this.#headBytes === FRAME_HEAD_BYTES) {
      this.#length = this.#head.readUIntBE(0, 3);
      this.#type = this.#head[3] as number;
      this.#flags = this.#head[4] as number;
      this.#stream = this.#head.readUInt32BE(5) & 0x7fffffff;
      this.#missing = this.#length;
      if (this.#length > MAX_FRAME_BYTES) throw new Http2Error(`a frame of ${this.#length} bytes`);
    }
    return at + count;
  }

  #finish(last: Buffer): void {
    this.#headBytes = 0;
    if (this.#isPassedOn) {
      this.sink.dataEnd(this.#stream, this.#flags);
      return;
    }
    const payload = this.#pieces.length === 0 ? last : Buffer.concat([...this.#pieces, last]);
    this.#pieces = [];
    if (this.#type === FrameType.DATA) {
      this.sink.data(this.#stream, withoutPadding(payload, this.#flags), payload.length);
      this.sink.dataEnd(this.#stream, this.#flags);
    } else this.sink.frame(this.#type, this.#flags, this.#stream, payload);
  }
}

/** The payload of a DATA or HEADERS frame without what its flags put around it. */
export function withoutPadding(payload: Buffer, flags: number, extraBytes = 0): Buffer {
  const isPadded = (flags & Flag.PADDED) !== 0;
  const padding = isPadded ? (payload[0] ?? 0) : 0;
  const start = (isPadded ? 1 : 0) + extraBytes;
  if (start + padding > payload.length) throw new Http2Error("a frame that is all padding");
  return payload.subarray(start, payload.length - padding);
}
