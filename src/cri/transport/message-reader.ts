import type { GrpcCode } from "../status.js";
import type { BufferPool } from "./buffer-pool.js";
import { uint32 } from "./frames.js";

/** Before each message: a flag for compression, and the message's length. */
export const PREFIX_BYTES = 5;
const UNKNOWN = -1;

/** What a reader of messages tells. */
export interface MessageSink {
  /** one message, put together; the bytes are the sink's to keep */
  message(bytes: Buffer): void;
  /** one message that came in one piece and lies among others: the bytes hold only during the call */
  messageWithin(bytes: Buffer, from: number, to: number): void;
  /** what comes cannot be taken; nothing is told after it */
  refused(code: GrpcCode, why: string): void;
}

/** Finds gRPC's messages in the pieces that arrive, and puts together those that are in more than one. */
export class MessageReader {
  #isStopped = false;
  /** a prefix that came in pieces, so far */
  #prefix: Buffer | undefined;
  #prefixBytes = 0;
  /** of the message that comes next; unknown until its prefix is there */
  #length = UNKNOWN;
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

  /** @param bytes of which those from `from` to `to` have come; they hold only during the call */
  read(bytes: Buffer, from: number, to: number): void {
    let at = from;
    while ((at < to || this.#length === 0) && !this.#isStopped) {
      if (this.#length === UNKNOWN) at = this.#takePrefix(bytes, at, to);
      else if (this.#message === undefined && at + this.#length <= to) {
        const start = at;
        at += this.#length;
        this.#length = UNKNOWN;
        this.sink.messageWithin(bytes, start, at);
      } else at = this.#gather(bytes, at, to);
    }
  }

  #takePrefix(bytes: Buffer, at: number, to: number): number {
    if (this.#prefixBytes === 0 && at + PREFIX_BYTES <= to) {
      this.#begin(bytes, at);
      return at + PREFIX_BYTES;
    }
    this.#prefix ??= Buffer.alloc(PREFIX_BYTES);
    this.#prefix[this.#prefixBytes++] = bytes[at] as number;
    if (this.#prefixBytes === PREFIX_BYTES) this.#begin(this.#prefix, 0);
    return at + 1;
  }

  #begin(prefix: Buffer, at: number): void {
    this.#prefixBytes = 0;
    const length = uint32(prefix, at + 1);
    if (prefix[at] !== 0) this.#refuse("Internal", "grpc: compressed message, and no compression was asked for");
    else if (length > this.maxMessageBytes) {
      const why = `grpc: received message larger than max (${length} vs. ${this.maxMessageBytes})`;
      this.#refuse("ResourceExhausted", why);
    } else this.#length = length;
  }

  #gather(bytes: Buffer, at: number, to: number): number {
    this.#message ??= this.pool.take(this.#length);
    const message = this.#message;
    const end = Math.min(to, at + this.#length - this.#messageBytes);
    bytes.copy(message, this.#messageBytes, at, end);
    this.#messageBytes += end - at;
    if (this.#messageBytes === this.#length) {
      this.#message = undefined;
      this.#messageBytes = 0;
      this.#length = UNKNOWN;
      this.sink.message(message);
    }
    return end;
  }

  #refuse(code: GrpcCode, why: string): void {
    this.stop();
    this.sink.refused(code, why);
  }
}

/** A message as it is sent: a copy, with its prefix. */
export function withPrefix(message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  bytes.set(message, PREFIX_BYTES);
  return putPrefix(bytes);
}

/** Fills in the prefix of a message that stands behind the room for it. */
export function putPrefix(bytes: Buffer): Buffer {
  const length = bytes.length - PREFIX_BYTES;
  bytes[0] = 0;
  bytes[1] = length >> 24;
  bytes[2] = length >> 16;
  bytes[3] = length >> 8;
  bytes[4] = length;
  return bytes;
}
