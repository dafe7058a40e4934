import type { Socket } from "node:net";
import { NumberedBag } from "../../util/bag.js";
import { CorkedWriter } from "../../util/corked-writer.js";
import {
  ErrorCode,
  Flag,
  FRAME_HEAD_BYTES,
  FrameReader,
  type FrameSink,
  FrameType,
  frame,
  Http2Error,
  MAX_FRAME_BYTES,
  numberFrame,
  numberOf,
  PREFACE,
  Setting,
  settingsFrame,
  withoutPadding,
  writeFrameHead,
} from "./frames.js";
import { HeaderBlocks } from "./header-blocks.js";
import { encodeField, type Fields } from "./hpack.js";

/** What comes back on one stream. */
export interface StreamSink {
  headers(fields: Fields): void;
  /** a view that holds only during the call */
  data(piece: Buffer): void;
  /** once, last: how it ended */
  closed(how: StreamEnd): void;
}

export type StreamEnd =
  | { readonly by: "end" }
  | { readonly by: "reset"; readonly code: number }
  | { readonly by: "connection"; readonly why: string };

/** How much the other side may send ahead on one stream; half of it read, and it may send as much again. */
const STREAM_WINDOW = 16 * 1024 * 1024;
/** The connection as a whole never holds a stream up. */
const CONNECTION_WINDOW = 2 ** 31 - 1;
const DEFAULT_WINDOW = 65_535;
const MAX_STREAM_ID = 2 ** 31 - 1;

interface Stream {
  readonly id: number;
  readonly sink: StreamSink;
  /** bytes of it that were read and not yet allowed again */
  read: number;
  isPaused: boolean;
  /** how much may be sent to the other side */
  window: number;
  /** what is left of the request */
  unsent: Buffer | undefined;
}

/** One call on a session. */
export interface StreamHandle {
  cancel(): void;
  pause(): void;
  resume(): void;
}

/**
 * The client's side of one HTTP/2 connection (RFC 9113), as far as gRPC needs it: requests with a small body each, answers
 * of any size. Node has one of its own, which spends several times as long on a call, most of all on the first ones.
 */
export class Session implements FrameSink {
  readonly #streams = new NumberedBag<Stream>();
  readonly #blocks = new HeaderBlocks();
  readonly #reader = new FrameReader(this);
  readonly #writer: CorkedWriter;
  readonly #waiting: (() => void)[] = [];
  #nextId = 1;
  #isReady = false;
  #isOpen = true;
  #isLost = false;
  #window = DEFAULT_WINDOW;
  #initialWindow = DEFAULT_WINDOW;
  #maxStreams = Number.POSITIVE_INFINITY;
  #read = 0;

  /**
   * @param socket connected, or about to be; its bytes are handed in through `received`
   * @param onReady the other side has sent its settings: it speaks HTTP/2
   * @param onLost the connection is over, and why
   */
  constructor(
    readonly socket: Socket,
    readonly onReady: () => void,
    readonly onLost: (why: string) => void,
  ) {
    this.#writer = new CorkedWriter(socket);
    socket.on("error", (error) => this.destroy(error.message));
    socket.on("close", () => this.destroy("the other side closed the connection"));
    socket.write(
      Buffer.concat([
        PREFACE,
        settingsFrame([
          [Setting.ENABLE_PUSH, 0],
          [Setting.INITIAL_WINDOW_SIZE, STREAM_WINDOW],
        ]),
        numberFrame(FrameType.WINDOW_UPDATE, 0, CONNECTION_WINDOW - DEFAULT_WINDOW),
      ]),
    );
  }

  /** Whether it takes calls. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  received(chunk: Buffer): void {
    try {
      this.#reader.read(chunk);
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.destroy(`this is no HTTP/2: ${error.message}`);
    }
  }

  /** Sends one request. The answer comes to the sink; nothing does after `cancel`. */
  request(headerBlock: Buffer, body: Buffer, sink: StreamSink): StreamHandle {
    let stream: Stream | undefined;
    let isCancelled = false;
    const start = () => {
      if (!isCancelled) stream = this.#open(headerBlock, body, sink);
    };
    if (this.#streams.size < this.#maxStreams) start();
    else this.#waiting.push(start);
    return {
      cancel: () => {
        isCancelled = true;
        if (stream !== undefined && this.#forget(stream)) {
          this.#write(numberFrame(FrameType.RST_STREAM, stream.id, ErrorCode.CANCEL));
        }
      },
      pause: () => {
        if (stream !== undefined) stream.isPaused = true;
      },
      resume: () => {
        if (stream === undefined) return;
        stream.isPaused = false;
        this.#allowMore(stream);
      },
    };
  }

  #open(headerBlock: Buffer, body: Buffer, sink: StreamSink): Stream | undefined {
    if (!this.#isOpen) {
      sink.closed({ by: "connection", why: "the connection was closed" });
      return undefined;
    }
    const id = this.#nextId;
    this.#nextId += 2;
    if (this.#nextId > MAX_STREAM_ID) this.#isOpen = false;
    const stream: Stream = { id, sink, read: 0, isPaused: false, window: this.#initialWindow, unsent: undefined };
    this.#streams.set(id, stream);
    if (body.length <= Math.min(this.#window, stream.window, MAX_FRAME_BYTES))
      this.#sendAtOnce(stream, headerBlock, body);
    else {
      this.#write(frame(FrameType.HEADERS, Flag.END_HEADERS, id, headerBlock));
      stream.unsent = body;
      this.#sendMore(stream);
    }
    return stream;
  }

  /** Head and body in one piece: what nearly every request is. */
  #sendAtOnce(stream: Stream, headerBlock: Buffer, body: Buffer): void {
    const bytes = Buffer.allocUnsafe(2 * FRAME_HEAD_BYTES + headerBlock.length + body.length);
    writeFrameHead(bytes, 0, headerBlock.length, FrameType.HEADERS, Flag.END_HEADERS, stream.id);
    headerBlock.copy(bytes, FRAME_HEAD_BYTES);
    const at = FRAME_HEAD_BYTES + headerBlock.length;
    writeFrameHead(bytes, at, body.length, FrameType.DATA, Flag.END_STREAM, stream.id);
    body.copy(bytes, at + FRAME_HEAD_BYTES);
    this.#window -= body.length;
    stream.window -= body.length;
    this.#write(bytes);
  }

  /** As much of a large body as the other side has room for. */
  #sendMore(stream: Stream): void {
    while (stream.unsent !== undefined) {
      const count = Math.min(stream.unsent.length, this.#window, stream.window, MAX_FRAME_BYTES);
      if (count <= 0) return;
      const isLast = count === stream.unsent.length;
      const piece = stream.unsent.subarray(0, count);
      this.#write(frame(FrameType.DATA, isLast ? Flag.END_STREAM : 0, stream.id, piece));
      this.#window -= count;
      stream.window -= count;
      stream.unsent = isLast ? undefined : stream.unsent.subarray(count);
    }
  }

  #write(bytes: Buffer): void {
    this.#writer.write(bytes);
  }

  data(id: number, piece: Buffer, length: number): void {
    if (!this.#isReady) throw new Http2Error("it does not begin with settings");
    this.#read += length;
    if (this.#read > CONNECTION_WINDOW / 2) {
      this.#write(numberFrame(FrameType.WINDOW_UPDATE, 0, this.#read));
      this.#read = 0;
    }
    const stream = this.#streams.get(id);
    if (stream === undefined) return; // cancelled, and the other side does not know yet
    stream.read += length;
    stream.sink.data(piece);
    this.#allowMore(stream);
  }

  #allowMore(stream: Stream): void {
    if (stream.read < STREAM_WINDOW / 2 || stream.isPaused || !this.#streams.has(stream.id)) return;
    this.#write(numberFrame(FrameType.WINDOW_UPDATE, stream.id, stream.read));
    stream.read = 0;
  }

  dataEnd(id: number, flags: number): void {
    if ((flags & Flag.END_STREAM) !== 0) this.#end(id, { by: "end" });
  }

  frame(type: number, flags: number, id: number, payload: Buffer): void {
    if (!this.#isReady && type !== FrameType.SETTINGS) throw new Http2Error("it does not begin with settings");
    if (this.#blocks.isWithinOne && type !== FrameType.CONTINUATION) throw new Http2Error("a header block breaks off");
    switch (type) {
      case FrameType.HEADERS:
        this.#headerBlock(id, flags, withoutPadding(payload, flags, (flags & Flag.PRIORITY) === 0 ? 0 : 5));
        break;
      case FrameType.CONTINUATION:
        this.#headerBlock(id, flags, payload);
        break;
      case FrameType.SETTINGS:
        this.#settings(flags, payload);
        break;
      case FrameType.PING:
        if ((flags & Flag.ACK) === 0) this.#write(frame(FrameType.PING, Flag.ACK, 0, payload));
        break;
      case FrameType.WINDOW_UPDATE:
        this.#windowUpdate(id, numberOf(payload) & 0x7fffffff);
        break;
      case FrameType.RST_STREAM:
        this.#end(id, { by: "reset", code: numberOf(payload) });
        break;
      case FrameType.GOAWAY:
        this.#goAway(numberOf(payload) & 0x7fffffff);
        break;
      case FrameType.PUSH_PROMISE:
        throw new Http2Error("it pushes, and was told not to");
      default: // PRIORITY, and what others may add: ignored, as the protocol demands
    }
  }

  #headerBlock(id: number, flags: number, piece: Buffer): void {
    const block = this.#blocks.add(id, flags, piece);
    if (block === undefined) return;
    this.#streams.get(block.stream)?.sink.headers(block.fields);
    if ((block.flags & Flag.END_STREAM) !== 0) this.#end(block.stream, { by: "end" });
  }

  #settings(flags: number, payload: Buffer): void {
    if ((flags & Flag.ACK) !== 0) return;
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      const value = payload.readUInt32BE(at + 2);
      switch (payload.readUInt16BE(at)) {
        case Setting.MAX_CONCURRENT_STREAMS:
          this.#maxStreams = value;
          break;
        case Setting.INITIAL_WINDOW_SIZE:
          for (const stream of this.#streams.values()) stream.window += value - this.#initialWindow;
          this.#initialWindow = value;
          break;
      }
    }
    this.#write(frame(FrameType.SETTINGS, Flag.ACK, 0, Buffer.alloc(0)));
    if (!this.#isReady) {
      this.#isReady = true;
      this.onReady();
    }
    for (const stream of this.#streams.values()) this.#sendMore(stream);
    this.#startWaiting();
  }

  #windowUpdate(id: number, bytes: number): void {
    const stream = this.#streams.get(id);
    if (id === 0) this.#window += bytes;
    else if (stream !== undefined) stream.window += bytes;
    for (const each of id === 0 ? this.#streams.values() : stream === undefined ? [] : [stream]) this.#sendMore(each);
  }

  /** No new calls; those that it has not seen are lost, the others go on. */
  #goAway(lastId: number): void {
    this.#isOpen = false;
    for (const stream of [...this.#streams.values()]) {
      if (stream.id > lastId) this.#end(stream.id, { by: "connection", why: "the other side goes away" });
    }
    this.#startWaiting();
    this.#closeWhenDone();
  }

  #end(id: number, how: StreamEnd): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    const isUnsent = stream.unsent !== undefined;
    this.#forget(stream);
    // An answer that came before the request was sent: the rest of it is not wanted.
    if (isUnsent && how.by === "end") this.#write(numberFrame(FrameType.RST_STREAM, id, ErrorCode.NO_ERROR));
    stream.sink.closed(how);
  }

  #forget(stream: Stream): boolean {
    const was = this.#streams.delete(stream.id);
    stream.unsent = undefined;
    if (this.#waiting.length > 0) this.#startWaiting();
    this.#closeWhenDone();
    return was;
  }

  #startWaiting(): void {
    while (this.#waiting.length > 0 && (this.#streams.size < this.#maxStreams || !this.#isOpen))
      this.#waiting.shift()?.();
  }

  #closeWhenDone(): void {
    if (!this.#isOpen && this.#streams.size === 0 && this.#waiting.length === 0) this.socket.end();
  }

  /** Ends the connection and everything on it. */
  destroy(why: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#isOpen = false;
    this.socket.destroy();
    for (const { id } of [...this.#streams.values()]) this.#end(id, { by: "connection", why });
    this.#startWaiting();
    this.onLost(why);
  }
}

/** The header block of a request: literals only, so it can be made once and sent many times. */
export function requestBlock(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.map(([name, value]) => encodeField(name, value)));
}
