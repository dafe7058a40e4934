import type { GrpcCode } from "../status.js";
import type { BufferPool } from "./buffer-pool.js";

/** Before each message: a flag for compression, and the message's length. */
const PREFIX_BYTES = 5;

/** What a reader of messages tells. */
export interface MessageSink {
  /** one message, whole; the bytes are the sink's to keep */
  message(bytes: Buffer): void;
  /** what comes cannot be taken; nothing is told after it */
  refused(code: GrpcCode, why: string): void;
}

/** Puts gRPC's messages together from the pieces that arrive. */
export class MessageReader {
  #isStopped = false;
  /** the length prefix so far, where it came in pieces */
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  #prefixBytes = 0;
  #message: Buffer | undefined;
  #messageBytes = 0;

  /** @param pool where the messages' buffers come from; whoever reads them gives them back */
  constructor(
    readonly maxMessageBytes: number,
    readonly pool: Pick<BufferPool, "take">,
    readonly sink: MessageSink,
  ) {}

  /** From now on nothing is told. */
  stop(): void {
    this.#isStopped = true;
  }

  /** @param piece a view that holds only during the call */
  read(piece: Buffer): void {
    let at = 0;
    while (at < piece.length && !this.#isStopped) {
      if (this.#message === undefined) at = this.#takePrefix(piece, at);
      else {
        const count = Math.min(piece.length - at, this.#message.length - this.#messageBytes);
        piece.copy(this.#message, this.#messageBytes, at, at + count);
        this.#messageBytes += count;
        at += count;
      }
      if (this.#message !== undefined && this.#messageBytes === this.#message.length) {
        const message = this.#message;
        this.#message = undefined;
        this.sink.message(message);
      }
    }
  }

  #takePrefix(piece: Buffer, at: number): number {
    const count = Math.min(piece.length - at, PREFIX_BYTES - this.#prefixBytes);
    piece.copy(this.#prefix, this.#prefixBytes, at, at + count);
    this.#prefixBytes += count;
    if (this.#prefixBytes === PREFIX_BYTES) this.#beginMessage();
    return at + count;
  }

  #beginMessage(): void {
    this.#prefixBytes = 0;
    const length = this.#prefix.readUInt32BE(1);
    if (this.#prefix[0] !== 0) this.#refuse("Internal", "grpc: compressed message, and no compression was asked for");
    else if (length > this.maxMessageBytes) {
      const why = `grpc: received message larger than max (${length} vs. ${this.maxMessageBytes})`;
      this.#refuse("ResourceExhausted", why);
    } else {
      this.#message = this.pool.take(length);
      this.#messageBytes = 0;
    }
  }

  #refuse(code: GrpcCode, why: string): void {
    this.stop();
    this.sink.refused(code, why);
  }
}

/** A message as it is sent: a copy, with its prefix. */
export function withPrefix(message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, PREFIX_BYTES);
  return bytes;
}
