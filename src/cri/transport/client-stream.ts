import type { CorkedWriter } from "../../util/corked-writer.js";
import { ErrorCode, Flag, FRAME_HEAD_BYTES, FrameType, frame, numberFrame, putFrame } from "./frames.js";
import type { Fields } from "./hpack.js";
import { Http2Stream, type Room } from "./http2-stream.js";

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

/** One request, which waits until it is sent, and its answer. */
export class ClientStream extends Http2Stream {
  /** what is left of the request */
  #unsent: Buffer | undefined;

  constructor(
    room: Room,
    writer: CorkedWriter,
    readonly head: Buffer,
    body: Buffer,
    readonly sink: StreamSink,
    readonly onOver: (stream: ClientStream) => void,
  ) {
    super(0, room, writer);
    this.#unsent = body;
  }

  /** Sends the request under this number: in one piece where there is room for it, as for nearly all there is. */
  send(id: number): void {
    const body = this.#unsent;
    if (body === undefined) return;
    this.id = id;
    this.window = this.room.initial;
    if (this.roomFor(body.length) < body.length) {
      this.writer.write(frame(FrameType.HEADERS, Flag.END_HEADERS, id, this.head));
      this.sendMore();
      return;
    }
    const bytes = Buffer.allocUnsafe(2 * FRAME_HEAD_BYTES + this.head.length + body.length);
    const at = putFrame(bytes, 0, FrameType.HEADERS, Flag.END_HEADERS, id, this.head);
    putFrame(bytes, at, FrameType.DATA, Flag.END_STREAM, id, body);
    this.took(body.length);
    this.#unsent = undefined;
    this.writer.write(bytes);
  }

  sendMore(): void {
    while (this.#unsent !== undefined) {
      const count = this.roomFor(this.#unsent.length);
      if (count <= 0) return;
      const isLast = count === this.#unsent.length;
      const piece = this.#unsent.subarray(0, count);
      this.writer.write(frame(FrameType.DATA, isLast ? Flag.END_STREAM : 0, this.id, piece));
      this.took(count);
      this.#unsent = isLast ? undefined : this.#unsent.subarray(count);
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
