import { StreamError } from "../bytes.js";
import { decodeFrameHead, FRAME_HEAD_BYTES, type FrameHead, SPDY_VERSION } from "./frames.js";

/** The reader's output: whole control frames, and DATA frames piece by piece. */
export type FramePart =
  | { readonly kind: "control"; readonly type: number; readonly flags: number; readonly body: Buffer }
  | {
      readonly kind: "data";
      readonly streamId: number;
      /** a view of the input, never a copy; may be empty */
      readonly piece: Buffer;
      /** the frame's size, on its first piece only */
      readonly frameLength: number | undefined;
      readonly isLast: boolean;
      /** The frame has FIN set. */
      readonly frameFin: boolean;
      /** The peer has ended its side: set on the last piece of a frame with FIN. */
      readonly fin: boolean;
    };

/** The largest accepted frame bodies, in bytes. */
export interface FrameLimits {
  /** Payload is passed on as it arrives and takes no memory here. Upstream accepts whatever 24 bits can express. */
  readonly maxDataFrameBytes: number;
  /** These frames are collected before they are parsed. */
  readonly maxControlFrameBytes: number;
}

/** Splits a byte stream into SPDY frames. */
export class FrameReader {
  #pending: Buffer | undefined;
  #control: Extract<FrameHead, { kind: "control" }> | undefined;
  #data: { streamId: number; fin: boolean; left: number } | undefined;

  constructor(readonly limits: FrameLimits) {}

  /** Whether the input ends inside a frame so far. */
  get isWithinFrame(): boolean {
    return this.#pending !== undefined || this.#control !== undefined || this.#data !== undefined;
  }

  /** @throws StreamError for a frame that is too large or of another version, after the frames before it */
  *read(chunk: Buffer): Generator<FramePart> {
    let bytes = chunk;
    let at = 0;
    if (this.#pending !== undefined) {
      bytes = Buffer.concat([this.#pending, chunk]);
      this.#pending = undefined;
    }
    for (;;) {
      const left = bytes.length - at;
      if (this.#data !== undefined) {
        if (left === 0) return;
        const size = Math.min(left, this.#data.left);
        yield this.#piece(bytes.subarray(at, at + size), undefined);
        at += size;
        continue;
      }
      const needed = this.#control?.length ?? FRAME_HEAD_BYTES;
      if (left < needed) {
        // At most a whole frame, and copied, because a view would keep its whole chunk.
        if (left > 0) this.#pending = Buffer.from(bytes.subarray(at));
        return;
      }
      if (this.#control !== undefined) {
        const { type, flags } = this.#control;
        this.#control = undefined;
        yield { kind: "control", type, flags, body: bytes.subarray(at, at + needed) };
        at += needed;
        continue;
      }
      const head = decodeFrameHead(bytes, at);
      at += FRAME_HEAD_BYTES;
      this.#check(head);
      if (head.kind === "control") {
        this.#control = head;
        continue;
      }
      this.#data = { streamId: head.streamId, fin: head.fin, left: head.length };
      const size = Math.min(bytes.length - at, head.length);
      yield this.#piece(bytes.subarray(at, at + size), head.length);
      at += size;
    }
  }

  #piece(piece: Buffer, frameLength: number | undefined): FramePart {
    const data = this.#data ?? { streamId: 0, fin: false, left: 0 };
    data.left -= piece.length;
    const isLast = data.left === 0;
    if (isLast) this.#data = undefined;
    return {
      kind: "data",
      streamId: data.streamId,
      piece,
      frameLength,
      isLast,
      frameFin: data.fin,
      fin: isLast && data.fin,
    };
  }

  #check(head: FrameHead): void {
    if (head.kind === "data") {
      if (head.streamId === 0) throw new StreamError("DATA: stream id zero is disallowed");
      if (head.length > this.limits.maxDataFrameBytes) throw tooLarge("DATA", head, this.limits.maxDataFrameBytes);
      return;
    }
    if (head.version !== SPDY_VERSION) {
      throw new StreamError(`a frame of SPDY version ${head.version}: only version ${SPDY_VERSION} is supported`);
    }
    if (head.length > this.limits.maxControlFrameBytes) {
      throw tooLarge(`control frame ${head.type}`, head, this.limits.maxControlFrameBytes);
    }
  }
}

function tooLarge(what: string, head: FrameHead, maxBytes: number): StreamError {
  return new StreamError(`${what}: a frame of ${head.length} bytes exceeds the limit of ${maxBytes}`);
}
