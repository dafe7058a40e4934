import type { FrameWriter } from "./frame-writer.js";
import { Flag, FrameType } from "./frames.js";
import { Http2Stream, type Room } from "./http2-stream.js";

/** Who takes what comes on one stream. */
export interface RequestSink {
  /** bytes that hold only during the call */
  data(bytes: Buffer, from: number, to: number): void;
  /** the request is whole */
  ended(): void;
  /** nobody waits for the answer any more */
  cancelled(): void;
}

/** One request and its answer. Header blocks are given as they are sent. */
export class ServerStream extends Http2Stream {
  /** undefined only while the request's head is looked at */
  sink: RequestSink | undefined;
  isRequestWhole = false;
  readonly #unsent: Buffer[] = [];
  #trailers: Buffer | undefined;
  #onRoom: (() => void) | undefined;

  constructor(
    id: number,
    room: Room,
    writer: FrameWriter,
    readonly onOver: () => void,
  ) {
    super(id, room, writer);
  }

  /** The whole answer. */
  respond(head: Buffer, body: Buffer, trailers: Buffer): void {
    this.begin(head);
    this.write(body);
    this.end(trailers);
  }

  begin(head: Buffer): void {
    if (!this.isOver) this.writer.frame(FrameType.HEADERS, Flag.END_HEADERS, this.id, head);
  }

  /** @returns whether more may follow at once; if not, wait for `hasRoom` */
  write(body: Buffer): boolean {
    if (this.isOver) return true;
    this.#unsent.push(body);
    this.sendMore();
    return !this.#isBehind;
  }

  /** Calls back when what was written has gone out, or nobody wants it any more. */
  hasRoom(then: () => void): void {
    if (this.isOver || !this.#isBehind) then();
    else this.#onRoom = then;
  }

  /** Trailers, or the head of an answer without a body. */
  end(trailers: Buffer): void {
    if (this.isOver) return;
    this.#trailers = trailers;
    this.sendMore();
  }

  sendMore(): void {
    for (let next = this.#unsent[0]; next !== undefined; next = this.#unsent[0]) {
      const count = this.roomFor(next.length);
      if (count <= 0) return;
      this.took(count);
      if (count === next.length) {
        this.writer.frame(FrameType.DATA, 0, this.id, next);
        this.#unsent.shift();
      } else {
        this.writer.frame(FrameType.DATA, 0, this.id, next.subarray(0, count));
        this.#unsent[0] = next.subarray(count);
      }
    }
    if (this.#trailers !== undefined) {
      const flags = Flag.END_HEADERS | Flag.END_STREAM;
      this.writer.frame(FrameType.HEADERS, flags, this.id, this.#trailers);
      this.#over();
    } else if (!this.#isBehind) this.#tellRoom();
  }

  /** Nobody waits for the answer any more. */
  cancelled(): void {
    if (this.isOver) return;
    this.isRequestWhole = true;
    this.#over();
    this.sink?.cancelled();
  }

  /** Something waits for a window, or for the socket. */
  get #isBehind(): boolean {
    return this.#unsent.length > 0 || this.writer.socket.writableNeedDrain;
  }

  #over(): void {
    this.isOver = true;
    this.#unsent.length = 0;
    this.#tellRoom();
    this.onOver();
  }

  #tellRoom(): void {
    const then = this.#onRoom;
    this.#onRoom = undefined;
    then?.();
  }
}
