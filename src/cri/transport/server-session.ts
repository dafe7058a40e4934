import type { Socket } from "node:net";
import { NumberedBag } from "../../util/bag.js";
import { CorkedWriter } from "../../util/corked-writer.js";
import {
  ErrorCode,
  Flag,
  FrameReader,
  type FrameSink,
  FrameType,
  frame,
  Http2Error,
  numberFrame,
  numberOf,
  PREFACE,
  Setting,
  settingsFrame,
  withoutPadding,
} from "./frames.js";
import { HeaderBlocks } from "./header-blocks.js";
import type { Fields } from "./hpack.js";
import { type RequestSink, Room, ServerStream } from "./server-stream.js";

/** A request may be as long as it likes: 16 MB are read ahead, and then as much again. */
const STREAM_WINDOW = 16 * 1024 * 1024;
const CONNECTION_WINDOW = 2 ** 31 - 1;
const DEFAULT_WINDOW = 65_535;

/**
 * The server's side of one HTTP/2 connection (RFC 9113), as far as gRPC needs it. `Session` is the client's side.
 *
 * Node has one of its own, and a gRPC library upon it: for the small calls of CRI the two take longer than everything that
 * a runtime of this process does to answer them.
 */
export class ServerSession implements FrameSink {
  readonly #streams = new NumberedBag<ServerStream>();
  readonly #blocks = new HeaderBlocks();
  readonly #reader = new FrameReader(this);
  readonly #writer: CorkedWriter;
  readonly #room = new Room(DEFAULT_WINDOW);
  #prefaceBytes = 0;
  #lastId = 0;
  #read = 0;
  #isLost = false;

  /** @param accept called with the head of each request; what it gives back is told the rest */
  constructor(
    readonly socket: Socket,
    readonly accept: (fields: Fields, stream: ServerStream) => RequestSink,
  ) {
    this.#writer = new CorkedWriter(socket);
    socket.on("data", (chunk) => this.#received(chunk));
    socket.on("drain", () => this.#sendMore());
    socket.on("error", () => this.destroy());
    socket.on("close", () => this.destroy());
    this.#writer.write(settingsFrame([[Setting.INITIAL_WINDOW_SIZE, STREAM_WINDOW]]));
    this.#writer.write(numberFrame(FrameType.WINDOW_UPDATE, 0, CONNECTION_WINDOW - DEFAULT_WINDOW));
  }

  #received(chunk: Buffer): void {
    try {
      const rest = this.#prefaceBytes < PREFACE.length ? this.#takePreface(chunk) : chunk;
      if (rest.length > 0) this.#reader.read(rest);
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.destroy();
    }
  }

  #takePreface(chunk: Buffer): Buffer {
    const count = Math.min(chunk.length, PREFACE.length - this.#prefaceBytes);
    const expected = PREFACE.subarray(this.#prefaceBytes, this.#prefaceBytes + count);
    if (!expected.equals(chunk.subarray(0, count))) throw new Http2Error("this is no HTTP/2");
    this.#prefaceBytes += count;
    return chunk.subarray(count);
  }

  data(id: number, piece: Buffer, length: number): void {
    this.#read += length;
    if (this.#read > CONNECTION_WINDOW / 2) {
      this.#writer.write(numberFrame(FrameType.WINDOW_UPDATE, 0, this.#read));
      this.#read = 0;
    }
    const stream = this.#streams.get(id);
    if (stream === undefined) return; // answered before it was whole
    stream.read += length;
    stream.sink?.data(piece);
    if (stream.read < STREAM_WINDOW / 2 || stream.isOver) return;
    this.#writer.write(numberFrame(FrameType.WINDOW_UPDATE, id, stream.read));
    stream.read = 0;
  }

  dataEnd(id: number, flags: number): void {
    if ((flags & Flag.END_STREAM) !== 0) this.#requestEnded(this.#streams.get(id));
  }

  frame(type: number, flags: number, id: number, payload: Buffer): void {
    if (this.#blocks.isWithinOne && type !== FrameType.CONTINUATION) throw new Http2Error("a header block breaks off");
    switch (type) {
      case FrameType.HEADERS:
        this.#headers(id, flags, withoutPadding(payload, flags, (flags & Flag.PRIORITY) === 0 ? 0 : 5));
        break;
      case FrameType.CONTINUATION:
        this.#headers(id, flags, payload);
        break;
      case FrameType.SETTINGS:
        this.#settings(flags, payload);
        break;
      case FrameType.PING:
        if ((flags & Flag.ACK) === 0) this.#writer.write(frame(FrameType.PING, Flag.ACK, 0, payload));
        break;
      case FrameType.WINDOW_UPDATE:
        this.#windowUpdate(id, numberOf(payload) & 0x7fffffff);
        break;
      case FrameType.RST_STREAM:
        this.#streams.get(id)?.cancelled();
        break;
      default: // GOAWAY: it closes when it is done. PRIORITY, and what others may add: ignored, as the protocol demands.
    }
  }

  #headers(id: number, flags: number, piece: Buffer): void {
    const block = this.#blocks.add(id, flags, piece);
    if (block === undefined) return;
    const isNew = block.stream > this.#lastId;
    if (isNew && block.stream % 2 === 0) throw new Http2Error("a stream with a server's number");
    if (isNew) this.#open(block.stream, block.fields);
    // Else trailers of a request, which say nothing in gRPC, or the rest of one that was answered already.
    if ((block.flags & Flag.END_STREAM) !== 0) this.#requestEnded(this.#streams.get(block.stream));
  }

  #open(id: number, fields: Fields): void {
    this.#lastId = id;
    const stream = new ServerStream(id, this.#room, this.#writer, () => this.#over(stream));
    this.#streams.set(id, stream);
    stream.sink = this.accept(fields, stream);
  }

  #requestEnded(stream: ServerStream | undefined): void {
    if (stream === undefined || stream.isRequestWhole) return;
    stream.isRequestWhole = true;
    stream.sink?.ended();
  }

  /** The rest of a request that was answered before it was whole is not wanted. */
  #over(stream: ServerStream): void {
    if (!this.#streams.delete(stream.id) || stream.isRequestWhole) return;
    this.#writer.write(numberFrame(FrameType.RST_STREAM, stream.id, ErrorCode.NO_ERROR));
  }

  #settings(flags: number, payload: Buffer): void {
    if ((flags & Flag.ACK) !== 0) return;
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== Setting.INITIAL_WINDOW_SIZE) continue;
      const value = payload.readUInt32BE(at + 2);
      for (const stream of this.#streams.values()) stream.window += value - this.#room.initial;
      this.#room.initial = value;
    }
    this.#writer.write(frame(FrameType.SETTINGS, Flag.ACK, 0, Buffer.alloc(0)));
    this.#sendMore();
  }

  #windowUpdate(id: number, bytes: number): void {
    const stream = this.#streams.get(id);
    if (id === 0) this.#room.connection += bytes;
    else if (stream !== undefined) stream.window += bytes;
    this.#sendMore();
  }

  #sendMore(): void {
    for (const stream of [...this.#streams.values()]) stream.sendMore();
  }

  /** Ends the connection and everything on it. */
  destroy(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.socket.destroy();
    for (const stream of [...this.#streams.values()]) stream.cancelled();
  }
}
