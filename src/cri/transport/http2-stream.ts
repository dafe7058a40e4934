import type { FrameWriter } from "./frame-writer.js";
import { FrameType, MAX_FRAME_BYTES, numberFrame } from "./frames.js";

/** How much the other side may send ahead on one stream; half of it read, and it may send as much again. */
export const STREAM_WINDOW = 16 * 1024 * 1024;

/** How much the other side lets this one send, on the connection and on each new stream of it. */
export class Room {
  connection: number;

  constructor(public initial: number) {
    this.connection = initial;
  }
}

/** What a client's and a server's stream have in common: an end, and the windows of both directions. */
export abstract class Http2Stream {
  /** who takes what comes; undefined while nobody is known */
  abstract readonly sink: { data(bytes: Buffer, from: number, to: number): void } | undefined;
  /** Nothing comes or goes any more. */
  isOver = false;
  /** The other side may not send more than its window, until `resume`. */
  protected isPaused = false;
  /** how much may be sent to the other side */
  window: number;
  /** bytes that were read and not yet allowed again */
  #read = 0;

  constructor(
    public id: number,
    readonly room: Room,
    readonly writer: FrameWriter,
  ) {
    this.window = room.initial;
  }

  /** As much of what waits as the other side has room for. */
  abstract sendMore(): void;

  /** @param length what the piece counts against the window */
  received(bytes: Buffer, from: number, to: number, length: number): void {
    this.#read += length;
    this.sink?.data(bytes, from, to);
    if (this.#read >= STREAM_WINDOW / 2) this.allowMore();
  }

  protected allowMore(): void {
    if (this.#read < STREAM_WINDOW / 2 || this.isPaused || this.isOver) return;
    this.writer.write(numberFrame(FrameType.WINDOW_UPDATE, this.id, this.#read));
    this.#read = 0;
  }

  /** How much of so many bytes may go out now, in one frame. */
  protected roomFor(bytes: number): number {
    return Math.min(bytes, this.room.connection, this.window, MAX_FRAME_BYTES);
  }

  protected took(bytes: number): void {
    this.room.connection -= bytes;
    this.window -= bytes;
  }
}
