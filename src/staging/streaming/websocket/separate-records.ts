import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";

type Written = (error?: Error | null) => void;
type Chunks = Parameters<NonNullable<Duplex["_writev"]>>[0];

/**
 * From now on a TLS socket sends an HTTP head and then WebSocket frames, each in TLS records of its own, as Go's servers
 * do. A frame of more than 16 KiB takes several records. Plain sockets stay as they are.
 *
 * Clients such as Python's poll the socket before each frame. They miss a frame that was decrypted together with the one before it, because
 * it no longer waits in the socket. Node joins all writes that follow while an earlier one is pending.
 *
 * Call it before the head is written.
 */
export function separateRecords(socket: Duplex): void {
  if ((socket as Partial<TLSSocket>).encrypted !== true) return;
  const frames = new FrameSplitter();
  const write = socket._write;
  const writeEach = (pieces: readonly Buffer[], written: Written) => {
    let count = 0;
    // One write is under way at a time, so that a slow reader still makes the writer wait.
    const next: Written = (error) => {
      const piece = error ? undefined : pieces[count++];
      if (piece === undefined) written(error);
      else write.call(socket, piece, "buffer" as BufferEncoding, next);
    };
    next();
  };
  socket._write = (chunk, encoding, written) => writeEach(frames.split(bytesOf({ chunk, encoding })), written);
  socket._writev = (chunks, written) => writeEach(frames.split(Buffer.concat(chunks.map(bytesOf))), written);
}

function bytesOf({ chunk, encoding }: Chunks[number]): Buffer {
  return typeof chunk === "string" ? Buffer.from(chunk, encoding) : (chunk as Buffer);
}

const HEAD_END = Buffer.from("\r\n\r\n");
/** RFC 6455 section 5.2: two bytes, 8 of length, 4 of mask */
const MAX_HEADER_BYTES = 14;

/** Finds the frames in a byte stream that begins with an HTTP head. Pieces of the stream can end anywhere. */
class FrameSplitter {
  /** how much of the end of the head was seen */
  #headEndBytes = 0;
  readonly #header = Buffer.alloc(MAX_HEADER_BYTES);
  #headerBytes = 0;
  /** the rest of the frame's payload */
  #payloadBytes = 0;

  /** @returns the same bytes; no piece has bytes of two frames */
  split(bytes: Buffer): Buffer[] {
    const pieces: Buffer[] = [];
    let from = 0;
    while (from < bytes.length) {
      const to = this.#headEndBytes < HEAD_END.length ? this.#passHead(bytes) : this.#passFrame(bytes, from);
      pieces.push(bytes.subarray(from, to));
      from = to;
    }
    return pieces;
  }

  /** @returns where the head ends in the first bytes */
  #passHead(bytes: Buffer): number {
    for (const [index, byte] of bytes.entries()) {
      if (byte === HEAD_END[this.#headEndBytes]) this.#headEndBytes++;
      else this.#headEndBytes = byte === HEAD_END[0] ? 1 : 0;
      if (this.#headEndBytes === HEAD_END.length) return index + 1;
    }
    return bytes.length;
  }

  /** @returns where the frame ends, or the end of the bytes */
  #passFrame(bytes: Buffer, from: number): number {
    let at = from;
    while (this.#payloadBytes === 0) {
      if (at === bytes.length) return at;
      this.#header[this.#headerBytes++] = bytes[at++] ?? 0;
      if (this.#headerBytes < headerLength(this.#header, this.#headerBytes)) continue;
      this.#payloadBytes = payloadLength(this.#header);
      this.#headerBytes = 0;
      if (this.#payloadBytes === 0) return at;
    }
    const to = Math.min(at + this.#payloadBytes, bytes.length);
    this.#payloadBytes -= to - at;
    return to;
  }
}

/** @param known how many bytes of the header are known */
function headerLength(header: Buffer, known: number): number {
  if (known < 2) return 2;
  const second = header.readUInt8(1);
  const short = second & 0x7f;
  return 2 + (short === 127 ? 8 : short === 126 ? 2 : 0) + (second & 0x80 ? 4 : 0);
}

function payloadLength(header: Buffer): number {
  const short = header.readUInt8(1) & 0x7f;
  if (short < 126) return short;
  return short === 126 ? header.readUInt16BE(2) : Number(header.readBigUInt64BE(2));
}
