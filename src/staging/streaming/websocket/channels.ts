import type { WebSocket } from "ws";
import { ByteQueue } from "../byte-queue.js";
import { type ByteWriter, StreamError } from "../bytes.js";
import {
  MessageSocket,
  type MessageSocketDeps,
  type MessageSocketOptions,
  type MessageTaker,
} from "./message-socket.js";
import { codecOf, hasCloseSignal } from "./subprotocols.js";

/** The channel whose one-byte messages name a channel to close. */
const CLOSE_CHANNEL = 255;
const ZERO = "0".charCodeAt(0);

/** Reading pauses above this many unread bytes, and resumes below the second limit. */
const MAX_WAITING_BYTES = 256 * 1024;
const FEW_WAITING_BYTES = 64 * 1024;
/** Larger writes become several messages, so that other channels get their turn. */
const MAX_MESSAGE_BYTES = 128 * 1024;

const BAD_PAYLOAD = 1007;
const PROTOCOL_ERROR = 1002;

export interface ChannelOptions extends MessageSocketOptions {
  readonly subprotocol: string;
  /** the channel's name in traces */
  nameOf(channel: number): string | undefined;
}

/**
 * Several byte streams over one WebSocket: each message starts with its channel number.
 *
 * Mirrors k8s.io/apiserver/pkg/util/wsstream/conn.go. As upstream, a channel without a reader blocks the others once
 * enough of its bytes wait, and messages for unknown channels are dropped. Differs: invalid base64, and a close signal
 * without a channel, end the connection with a reason.
 */
export class ChannelConnection {
  readonly #readers = new Map<number, ByteQueue>();
  readonly #isBase64: boolean;
  readonly #canClose: boolean;
  readonly socket: MessageSocket;
  readonly #over = new AbortController();
  #waitingBytes = 0;
  #isPaused = false;

  constructor(
    ws: WebSocket,
    readonly deps: MessageSocketDeps,
    readonly options: ChannelOptions,
  ) {
    this.#isBase64 = codecOf(options.subprotocol) === "base64";
    this.#canClose = hasCloseSignal(options.subprotocol);
    const taker: MessageTaker = {
      take: (message) => this.#take(message),
      ended: (error) => this.#ended(error),
    };
    this.socket = new MessageSocket(ws, taker, deps, options);
  }

  /** Aborts when the connection is over, before its readers end, so that they can detect it. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  #ended(error: StreamError | undefined): void {
    this.#over.abort(error ?? new StreamError("the other side closed the connection"));
    for (const reader of this.#readers.values()) {
      if (error === undefined) reader.end();
      else reader.fail(error);
    }
  }

  /** The input of a channel. Call it before the first message can arrive. */
  reader(channel: number): ByteQueue {
    const queue = new ByteQueue((byteCount) => this.#taken(byteCount));
    this.#readers.set(channel, queue);
    return queue;
  }

  /**
   * Its `end` reaches the other side only if the subprotocol has a message for it, and only from a client: servers
   * never send it, and clients treat it as an error.
   */
  writer(channel: number, side: "client" | "server"): ByteWriter {
    let isEnded = false;
    return {
      write: (bytes) => this.send(channel, bytes),
      end: async () => {
        if (isEnded || !this.#canClose || side === "server") return;
        isEnded = true;
        await this.send(CLOSE_CHANNEL, Uint8Array.of(channel));
      },
    };
  }

  /** @throws StreamError if the connection is over */
  send(channel: number, bytes: Uint8Array): Promise<void> {
    if (bytes.length <= MAX_MESSAGE_BYTES) return this.#sendMessage(channel, bytes);
    return this.#sendInPieces(channel, bytes);
  }

  async #sendInPieces(channel: number, bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += MAX_MESSAGE_BYTES) {
      await this.#sendMessage(channel, bytes.subarray(at, at + MAX_MESSAGE_BYTES));
    }
  }

  #sendMessage(channel: number, bytes: Uint8Array): Promise<void> {
    this.#report("sent", channel, bytes);
    if (this.#isBase64) {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
      return this.socket.send(String.fromCharCode(ZERO + channel) + text);
    }
    const message = Buffer.allocUnsafe(bytes.length + 1);
    message[0] = channel;
    message.set(bytes, 1);
    return this.socket.send(message);
  }

  /** Drops unread and future bytes. */
  discardAll(): void {
    for (const reader of this.#readers.values()) {
      reader.discard();
      reader.end();
    }
  }

  #take(message: Buffer): void {
    const first = message[0];
    if (first === undefined) return;
    const channel = this.#isBase64 ? first - ZERO : first;
    const bytes = message.subarray(1);
    const payload = this.#isBase64 ? decodeBase64(bytes) : bytes;
    if (payload === undefined) this.#refuse(BAD_PAYLOAD, "the message is not base64");
    else if (this.#canClose && channel === CLOSE_CHANNEL) this.#takeClose(payload);
    else this.#deliver(channel, payload);
  }

  #deliver(channel: number, payload: Uint8Array): void {
    this.#report("received", channel, payload);
    const reader = this.#readers.get(channel);
    if (reader === undefined) return;
    const before = reader.waitingBytes;
    reader.push(payload);
    this.#waitingBytes += reader.waitingBytes - before;
    if (this.#waitingBytes > MAX_WAITING_BYTES && !this.#isPaused) {
      this.#isPaused = true;
      this.socket.pause();
    }
  }

  #takeClose(bytes: Uint8Array): void {
    this.#report("received", CLOSE_CHANNEL, bytes);
    const channel = bytes[0];
    if (channel === undefined || bytes.length > 1) {
      this.#refuse(PROTOCOL_ERROR, `a close signal names one channel, not ${bytes.length}`);
    } else {
      this.#readers.get(channel)?.end();
    }
  }

  #refuse(code: number, reason: string): void {
    this.discardAll();
    void this.socket.close(code, reason);
  }

  #taken(byteCount: number): void {
    this.#waitingBytes -= byteCount;
    if (!this.#isPaused || this.#waitingBytes > FEW_WAITING_BYTES) return;
    this.#isPaused = false;
    this.socket.resume();
  }

  #report(direction: "sent" | "received", channel: number, bytes: Uint8Array): void {
    const { observer } = this.deps;
    if (observer === undefined) return;
    const name = channel === CLOSE_CHANNEL ? "close" : this.options.nameOf(channel);
    observer({
      direction,
      framing: "WebSocket",
      type: this.#isBase64 ? "text" : "binary",
      length: bytes.length,
      head: bytes.subarray(0, 64),
      ...(name === undefined ? { note: `channel ${channel}` } : { channel: name }),
    });
  }
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Strict, as Go's decoder; Node's ignores unknown characters. Go ignores line breaks. */
function decodeBase64(bytes: Buffer): Buffer | undefined {
  const text = bytes.toString("latin1").replace(/[\r\n]/g, "");
  return BASE64.test(text) ? Buffer.from(text, "base64") : undefined;
}
