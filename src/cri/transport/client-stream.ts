import type { FrameWriter } from "./frame-writer.js";
import { ErrorCode, Flag, FrameType, numberFrame } from "./frames.js";
import type { RequestHead } from "./header-encoder.js";
import type { Fields } from "./hpack.js";
import { Http2Stream, type Room } from "./http2-stream.js";

/** What comes back on one stream. */
export interface StreamSink {
  headers(fields: Fields): void;
  /** bytes that hold only during the call */
  data(bytes: Buffer, from: number, to: number): void;
  /** once, last: how it ended */
  closed(how: StreamEnd): void;
}

export type StreamEnd =
  | { readonly by: "end" }
  | { readonly by: "reset"; readonly code: number }
  | { readonly by: "connection"; readonly why: string };

/** One request, which waits until it is sent, and its answer. */
export class ClientStream extends Http2Stream {
  /** what is left of the request */
  #unsent: Buffer | undefined;

  constructor(
    room: Room,
    writer: FrameWriter,
    readonly head: RequestHead,
    body: Buffer,
    readonly sink: StreamSink,
    readonly onOver: (stream: ClientStream) => void,
  ) {
    super(0, room, writer);
    this.#unsent = body;
  }

  /** Sends the request under this number, as far as there is room for it. @param block the head, encoded */
  send(id: number, block: Buffer): void {
    this.id = id;
    this.window = this.room.initial;
    this.writer.frame(FrameType.HEADERS, Flag.END_HEADERS, id, block);
    this.sendMore();
  }

  sendMore(): void {
    for (let body = this.#unsent; body !== undefined; body = this.#unsent) {
      const count = this.roomFor(body.length);
      if (count < body.length && count <= 0) return;
      this.took(count);
      if (count === body.length) {
        this.writer.frame(FrameType.DATA, Flag.END_STREAM, this.id, body);
        this.#unsent = undefined;
      } else {
        this.writer.frame(FrameType.DATA, 0, this.id, body.subarray(0, count));
        this.#unsent = body.subarray(count);
      }
    }
  }

  /** The sink is told nothing more. */
  cancel(): void {
    if (this.isOver) return;
    if (this.id !== 0) this.#giveUp(ErrorCode.CANCEL);
    this.#over();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.allowMore();
  }

  closed(how: StreamEnd): void {
    if (this.isOver) return;
    // An answer that came before the request was sent: the rest of it is not wanted.
    if (this.#unsent !== undefined && how.by === "end") this.#giveUp(ErrorCode.NO_ERROR);
    this.#over();
    this.sink.closed(how);
  }

  #giveUp(code: number): void {
    this.writer.write(numberFrame(FrameType.RST_STREAM, this.id, code));
  }

  #over(): void {
    this.isOver = true;
    this.#unsent = undefined;
    this.onOver(this);
  }
}
