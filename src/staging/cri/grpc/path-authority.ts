import type { Socket } from "node:net";
import { Duplex } from "node:stream";

/**
 * Serves clients that send the path of the server's socket as their `:authority`, as grpc-go does in kubelets and
 * crictl of 1.25. Node's HTTP/2 refuses a slash or a space there, so they become dots: a dot's code has the same number
 * of bits, so no length and no table of HPACK changes.
 */
export class PathAuthorityConnection extends Duplex {
  readonly #frames = new FrameReader();

  constructor(readonly socket: Socket) {
    super();
    socket.on("data", (bytes: Buffer) => {
      if (!this.push(this.#frames.read(bytes))) socket.pause();
    });
    socket.on("end", () => this.push(null));
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
    // The HTTP/2 session reports it, and stops listening when it ends.
    this.on("error", () => {});
  }

  override _read(): void {
    this.socket.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.socket.write(bytes, done);
  }

  /** The frames of a long response leave in one system call. */
  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.socket.cork();
    for (const [i, { chunk }] of chunks.entries()) this.socket.write(chunk, i + 1 < chunks.length ? undefined : done);
    this.socket.uncork();
  }

  override _final(done: () => void): void {
    this.socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.socket.destroy();
    done(error);
  }
}

const PREFACE_BYTES = 24;
const FRAME_HEADER_BYTES = 9;
/** The frame size that a server allows by default. */
const MAX_FRAME_BYTES = 16_384;
const HEADERS = 1;
const PADDED = 0x8;
const PRIORITY = 0x20;

/** Finds the HEADERS frames of a client (RFC 9113, 4 and 6.2). Other bytes pass. */
class FrameReader {
  #waiting: Buffer = Buffer.alloc(0);
  #skip = PREFACE_BYTES;

  /** @returns the bytes of complete frames */
  read(bytes: Buffer): Buffer {
    const all = Buffer.concat([this.#waiting, bytes]);
    let at = 0;
    while (at < all.length) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, all.length - at);
        this.#skip -= skipped;
        at += skipped;
        continue;
      }
      if (all.length - at < FRAME_HEADER_BYTES) break;
      const length = all.readUIntBE(at, 3);
      // Frames that are too long are refused later; those of other types need not be complete.
      if (all[at + 3] !== HEADERS || length > MAX_FRAME_BYTES) {
        this.#skip = FRAME_HEADER_BYTES + length;
        continue;
      }
      if (all.length - at < FRAME_HEADER_BYTES + length) break;
      mendHeaders(all[at + 4] ?? 0, all.subarray(at + FRAME_HEADER_BYTES, at + FRAME_HEADER_BYTES + length));
      at += FRAME_HEADER_BYTES + length;
    }
    this.#waiting = all.subarray(at);
    return all.subarray(0, at);
  }
}

function mendHeaders(flags: number, payload: Buffer): void {
  const isPadded = (flags & PADDED) !== 0;
  const start = (isPadded ? 1 : 0) + ((flags & PRIORITY) === 0 ? 0 : 5);
  const end = payload.length - (isPadded ? (payload[0] ?? 0) : 0);
  mendBlock(payload.subarray(start, Math.max(start, end)));
}

/** `:authority` in HPACK's static table. */
const AUTHORITY = 1;

/** Corrects the authority in a block of headers, in place (RFC 7541, 6). */
function mendBlock(block: Buffer): void {
  let at = 0;
  const integer = (prefixBits: number): number => {
    const max = 2 ** prefixBits - 1;
    let value = (block[at++] ?? 0) & max;
    if (value < max) return value;
    for (let shift = 0; at < block.length; shift += 7) {
      const byte = block[at++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  const text = (): { readonly isHuffman: boolean; readonly bytes: Buffer } => {
    const isHuffman = ((block[at] ?? 0) & 0x80) !== 0;
    const length = integer(7);
    const bytes = block.subarray(at, at + length);
    at += length;
    return { isHuffman, bytes };
  };
  while (at < block.length) {
    const first = block[at] ?? 0;
    if (first >= 0x80) integer(7);
    else if (first >= 0x20 && first < 0x40) integer(5);
    else {
      const name = integer(first >= 0x40 ? 6 : 4);
      if (name === 0) text();
      const { isHuffman, bytes } = text();
      if (name === AUTHORITY) (isHuffman ? mendHuffman : mendPlain)(bytes);
    }
  }
}

function mendPlain(bytes: Buffer): void {
  for (const [i, byte] of bytes.entries()) if (byte === 0x2f || byte === 0x20) bytes[i] = 0x2e;
}

/** The codes of a slash and a space. */
const REFUSED: readonly number[] = [0b011000, 0b010100];
const DOT = 0b010111;
/** By length in bits, the first code that does not exist (RFC 7541, appendix B). Covers ASCII except the backslash. */
const CODES_BELOW = [
  [5, 0xa],
  [6, 0x2e],
  [7, 0x7c],
  [8, 0xfe],
  [10, 0x3fd],
  [11, 0x7fd],
  [12, 0xffc],
  [13, 0x1ffe],
  [14, 0x3ffe],
  [15, 0x7fff],
] as const;

function mendHuffman(bytes: Buffer): void {
  const bit = (at: number) => ((bytes[at >> 3] ?? 0xff) >> (7 - (at & 7))) & 1;
  const code = (at: number, count: number) => {
    let value = 0;
    for (let i = 0; i < count; i++) value = value * 2 + bit(at + i);
    return value;
  };
  for (let at = 0; at < bytes.length * 8; ) {
    const size = CODES_BELOW.find(([count, below]) => code(at, count) < below)?.[0];
    // A longer code, or the end: one bits fill the last byte.
    if (size === undefined) return;
    if (size === 6 && REFUSED.includes(code(at, 6))) {
      for (let i = 0; i < 6; i++) setBit(bytes, at + i, (DOT >> (5 - i)) & 1);
    }
    at += size;
  }
}

function setBit(bytes: Buffer, at: number, bit: number): void {
  const mask = 1 << (7 - (at & 7));
  const byte = bytes[at >> 3] ?? 0;
  bytes[at >> 3] = bit === 1 ? byte | mask : byte & ~mask;
}
