import type { Socket } from "node:net";
import { NumberedBag } from "../../util/bag.js";
import { FrameWriter } from "./frame-writer.js";
import {
  Flag,
  FrameReader,
  type FrameSink,
  FrameType,
  Http2Error,
  numberFrame,
  numberOf,
  Setting,
  settingsFrame,
  withoutPadding,
} from "./frames.js";
import { HeaderBlocks } from "./header-blocks.js";
import { type Fields, MAX_TABLE_BYTES } from "./hpack.js";
import { type Http2Stream, Room, STREAM_WINDOW } from "./http2-stream.js";

/** The connection as a whole never holds a stream up. */
const CONNECTION_WINDOW = 2 ** 31 - 1;
const DEFAULT_WINDOW = 65_535;
const NOTHING = Buffer.alloc(0);

/**
 * One HTTP/2 connection (RFC 9113), as far as gRPC needs it and as both sides have it: frames, settings, windows, and the
 * streams that they are for. `ClientSession` and `ServerSession` know what a request is.
 *
 * Node has one of its own, which spends several times as long on a call, most of all on the first ones.
 */
export abstract class Http2Session<S extends Http2Stream> implements FrameSink {
  protected readonly streams = new NumberedBag<S>();
  protected readonly room = new Room(DEFAULT_WINDOW);
  /** how many streams the other side wants to have at once */
  protected maxStreams = Number.POSITIVE_INFINITY;
  /** of how many bytes of header fields the other side keeps a table */
  protected headerTableBytes = MAX_TABLE_BYTES;
  protected readonly writer: FrameWriter;
  readonly #blocks = new HeaderBlocks();
  readonly #reader = new FrameReader(this);
  #hasSettings = false;
  #isLost = false;
  /** bytes of all streams that were read and not yet allowed again */
  #read = 0;

  constructor(readonly socket: Socket) {
    this.writer = new FrameWriter(socket);
    socket.on("error", (error) => this.destroy(error.message));
    socket.on("close", () => this.destroy("the other side closed the connection"));
  }

  /** What this side says first, in one piece. */
  protected greet(preface: Buffer, settings: readonly (readonly [setting: number, value: number])[]): void {
    this.writer.write(
      Buffer.concat([
        preface,
        settingsFrame([...settings, [Setting.INITIAL_WINDOW_SIZE, STREAM_WINDOW]]),
        numberFrame(FrameType.WINDOW_UPDATE, 0, CONNECTION_WINDOW - DEFAULT_WINDOW),
      ]),
    );
  }

  /** The other side's settings have come, for the first time or again. */
  protected abstract settled(isFirst: boolean): void;
  /** A header block of a stream is whole, be it the first of it or not. */
  protected abstract headers(id: number, fields: Fields): void;
  /** The other side has said all that it had to say on a stream. */
  protected abstract ended(id: number): void;
  protected abstract reset(id: number, code: number): void;
  /** The other side opens and takes no streams above this one. */
  protected abstract goesAway(lastId: number): void;
  /** The connection is over. */
  protected abstract lost(why: string): void;

  /** Takes what the socket has read. */
  received(chunk: Buffer): void {
    try {
      this.#reader.read(chunk);
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.destroy(`this is no HTTP/2: ${error.message}`);
    }
  }

  /** Ends the connection and everything on it. */
  destroy(why: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.socket.destroy();
    this.lost(why);
  }

  data(id: number, bytes: Buffer, from: number, to: number, length: number): void {
    if (!this.#hasSettings) throw new Http2Error("it does not begin with settings");
    this.#read += length;
    if (this.#read > CONNECTION_WINDOW / 2) {
      this.writer.write(numberFrame(FrameType.WINDOW_UPDATE, 0, this.#read));
      this.#read = 0;
    }
    // None: the stream is over for this side, and the other does not know yet.
    this.streams.get(id)?.received(bytes, from, to, length);
  }

  dataEnd(id: number, flags: number): void {
    if ((flags & Flag.END_STREAM) !== 0) this.ended(id);
  }

  frame(type: number, flags: number, id: number, bytes: Buffer, from: number, to: number): void {
    if (!this.#hasSettings && type !== FrameType.SETTINGS) throw new Http2Error("it does not begin with settings");
    if (this.#blocks.isWithinOne && type !== FrameType.CONTINUATION) throw new Http2Error("a header block breaks off");
    const isPlain = (flags & (Flag.PADDED | Flag.PRIORITY)) === 0;
    if (type === FrameType.HEADERS && isPlain) this.#headerBlock(id, flags, bytes, from, to);
    else this.#otherFrame(type, flags, id, bytes.subarray(from, to));
  }

  #otherFrame(type: number, flags: number, id: number, payload: Buffer): void {
    switch (type) {
      case FrameType.HEADERS: {
        const block = withoutPadding(payload, flags, (flags & Flag.PRIORITY) === 0 ? 0 : 5);
        this.#headerBlock(id, flags, block, 0, block.length);
        break;
      }
      case FrameType.CONTINUATION:
        this.#headerBlock(id, flags, payload, 0, payload.length);
        break;
      case FrameType.SETTINGS:
        if ((flags & Flag.ACK) === 0) this.#settings(payload);
        break;
      case FrameType.PING:
        if ((flags & Flag.ACK) === 0) this.writer.frame(FrameType.PING, Flag.ACK, 0, payload);
        break;
      case FrameType.WINDOW_UPDATE:
        this.#windowUpdate(id, numberOf(payload) & 0x7fffffff);
        break;
      case FrameType.RST_STREAM:
        this.reset(id, numberOf(payload));
        break;
      case FrameType.GOAWAY:
        this.goesAway(numberOf(payload) & 0x7fffffff);
        break;
      case FrameType.PUSH_PROMISE:
        throw new Http2Error("it pushes, and may not");
      default: // PRIORITY, and what others may add: ignored, as the protocol demands
    }
  }

  #headerBlock(id: number, flags: number, bytes: Buffer, from: number, to: number): void {
    const fields = this.#blocks.add(id, flags, bytes, from, to);
    if (fields === undefined) return;
    const { stream } = this.#blocks;
    this.headers(stream, fields);
    if ((this.#blocks.flags & Flag.END_STREAM) !== 0) this.ended(stream);
  }

  #settings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      const value = payload.readUInt32BE(at + 2);
      switch (payload.readUInt16BE(at)) {
        case Setting.HEADER_TABLE_SIZE:
          this.headerTableBytes = value;
          break;
        case Setting.MAX_CONCURRENT_STREAMS:
          this.maxStreams = value;
          break;
        case Setting.INITIAL_WINDOW_SIZE:
          for (const stream of this.streams.values()) stream.window += value - this.room.initial;
          this.room.initial = value;
          break;
      }
    }
    this.writer.frame(FrameType.SETTINGS, Flag.ACK, 0, NOTHING);
    const isFirst = !this.#hasSettings;
    this.#hasSettings = true;
    this.sendMore();
    this.settled(isFirst);
  }

  #windowUpdate(id: number, bytes: number): void {
    if (id === 0) {
      this.room.connection += bytes;
      this.sendMore();
      return;
    }
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    stream.window += bytes;
    stream.sendMore();
  }

  /** Goes on with what waited for room, on all streams. */
  protected sendMore(): void {
    for (const stream of [...this.streams.values()]) stream.sendMore();
  }
}
