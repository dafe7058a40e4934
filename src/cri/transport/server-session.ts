import type { Socket } from "node:net";
import { ErrorCode, FrameType, Http2Error, numberFrame, PREFACE } from "./frames.js";
import type { Fields } from "./hpack.js";
import { Http2Session } from "./http2-session.js";
import { type RequestSink, ServerStream } from "./server-stream.js";

const NOTHING = Buffer.alloc(0);

/**
 * The server's side of one HTTP/2 connection: requests of any length, and the answers to them.
 *
 * With Node's own, and a gRPC library upon it, the small calls of CRI take longer than everything that a runtime of this
 * process does to answer them.
 */
export class ServerSession extends Http2Session<ServerStream> {
  #prefaceBytes = 0;
  #lastId = 0;

  /** @param accept called with the head of each request; what it gives back is told the rest */
  constructor(
    socket: Socket,
    readonly accept: (fields: Fields, stream: ServerStream) => RequestSink,
  ) {
    super(socket);
    socket.on("data", (chunk) => this.received(chunk));
    socket.on("drain", () => this.sendMore());
    this.greet(NOTHING, []);
  }

  override received(chunk: Buffer): void {
    super.received(this.#prefaceBytes < PREFACE.length ? this.#takePreface(chunk) : chunk);
  }

  #takePreface(chunk: Buffer): Buffer {
    const count = Math.min(chunk.length, PREFACE.length - this.#prefaceBytes);
    const expected = PREFACE.subarray(this.#prefaceBytes, this.#prefaceBytes + count);
    if (!expected.equals(chunk.subarray(0, count))) {
      this.destroy("this is no HTTP/2");
      return NOTHING;
    }
    this.#prefaceBytes += count;
    return chunk.subarray(count);
  }

  protected headers(id: number, fields: Fields): void {
    // Trailers of a request, which say nothing in gRPC, or the rest of one that was answered already.
    if (id <= this.#lastId) return;
    if (id % 2 === 0) throw new Http2Error("a stream with a server's number");
    this.#lastId = id;
    const stream = new ServerStream(id, this.room, this.writer, () => this.#over(stream));
    this.streams.set(id, stream);
    stream.sink = this.accept(fields, stream);
  }

  protected ended(id: number): void {
    const stream = this.streams.get(id);
    if (stream === undefined || stream.isRequestWhole) return;
    stream.isRequestWhole = true;
    stream.sink?.ended();
  }

  /** The rest of a request that was answered before it was whole is not wanted. */
  #over(stream: ServerStream): void {
    if (!this.streams.delete(stream.id) || stream.isRequestWhole) return;
    this.writer.write(numberFrame(FrameType.RST_STREAM, stream.id, ErrorCode.NO_ERROR));
  }

  protected reset(id: number): void {
    this.streams.get(id)?.cancelled();
  }

  protected lost(): void {
    for (const stream of [...this.streams.values()]) stream.cancelled();
  }

  /** A server opens no streams. */
  protected settled(): void {}

  /** The client closes the connection when it is done. */
  protected goesAway(): void {}
}
