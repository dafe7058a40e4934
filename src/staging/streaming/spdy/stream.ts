import { type ByteDuplex, type ByteReader, StreamError } from "../bytes.js";
import { type FlowControl, Window } from "./flow-control.js";
import { channelOf } from "./frame-report.js";
import { type ControlFrame, RESET_STATUS, type ResetStatus } from "./frames.js";
import type { SpdyHeaders } from "./header-block.js";
import { Inbox } from "./inbox.js";

/** What a stream needs from its connection. */
export interface StreamHost {
  readonly frames: {
    control(frame: ControlFrame): void;
    data(stream: SpdyStream, bytes: Uint8Array, fin: boolean): void;
    credit(streamId: number, delta: number): void;
    room(): Promise<void>;
  };
  readonly flow: FlowControl;
  /** As for an Inbox. */
  taken(stream: SpdyStream, bytes: number, freed: number): void;
  /** Both sides of it are closed. */
  streamOver(stream: SpdyStream): void;
}

/** Larger writes are split, so that other streams get their turn. Upstream's io.Copy sends 32 KiB. */
const MAX_SENT_FRAME_BYTES = 64 * 1024;

const DONE = Promise.resolve();
/** Mirrors github.com/moby/spdystream/connection.go (ErrWriteClosedStream). */
const CLOSED = "Write on closed stream";
const NO_BYTES = new Uint8Array(0);

/** One stream of a SPDY connection. Mirrors github.com/moby/spdystream/stream.go (Stream). */
export class SpdyStream implements ByteDuplex {
  readonly inbox: Inbox;
  readonly window = new Window();
  /** The stream's purpose, from its headers. */
  readonly channel: string | undefined;
  /** For the connection: the inbox is above its limit. */
  isFull = false;
  #isReplied: boolean;
  #isRemoteEnded = false;
  /**
   * The reason why nothing can be written any more. The error is created for a writer, because most streams just end.
   */
  #localEnd: StreamError | string | undefined;
  #ending: Promise<void> | undefined;
  #queue: Promise<void> | undefined;
  #isOver = false;
  #whenOver: Promise<void> | undefined;
  #resolveClosed = () => {};

  constructor(
    readonly id: number,
    readonly headers: SpdyHeaders,
    /** by this side or by the peer */
    readonly openedBy: "us" | "peer",
    readonly host: StreamHost,
  ) {
    this.inbox = new Inbox({ taken: (_, bytes, freed) => host.taken(this, bytes, freed) });
    this.channel = channelOf(headers);
    this.#isReplied = openedBy === "us";
  }

  /** Ends when the peer has closed its side, or has reset the stream with CANCEL, upstream's way to end it. */
  get incoming(): ByteReader {
    return this.inbox;
  }

  /** Resolves (never rejects) when both sides or the connection are closed. */
  get closed(): Promise<void> {
    if (this.#isOver) return DONE;
    this.#whenOver ??= new Promise<void>((resolve) => {
      this.#resolveClosed = resolve;
    });
    return this.#whenOver;
  }

  get isRemoteEnded(): boolean {
    return this.#isRemoteEnded;
  }

  /**
   * Answers the peer's SYN_STREAM, as spdystream's SendReply does: an upstream peer sends and accepts data only after
   * that.
   */
  accept(): void {
    if (this.#isReplied || this.#isOver) return;
    this.#isReplied = true;
    this.host.frames.control({ type: "SYN_REPLY", streamId: this.id, headers: {}, fin: false });
  }

  write(bytes: Uint8Array): Promise<void> {
    if (this.#localEnd !== undefined) return Promise.reject(this.#writeError());
    if (this.#ending !== undefined) return Promise.reject(new StreamError(CLOSED));
    if (bytes.length === 0) return DONE;
    this.accept();
    if (this.#queue !== undefined || bytes.length > Math.min(MAX_SENT_FRAME_BYTES, this.host.flow.room(this.window))) {
      return this.#enqueue(() => this.#sendPieces(bytes));
    }
    this.host.frames.data(this, bytes, false);
    return this.host.frames.room();
  }

  /** Sends an empty DATA frame with FIN, as upstream does. */
  end(): Promise<void> {
    if (this.#ending !== undefined) return this.#ending;
    if (this.#localEnd !== undefined) return DONE;
    this.accept();
    if (this.#queue === undefined) {
      this.#ending = DONE;
      this.#sendEnd();
    } else {
      this.#ending = this.#enqueue(async () => this.#sendEnd()).catch(() => {});
    }
    return this.#ending;
  }

  #sendEnd(): void {
    if (this.#localEnd !== undefined) return;
    this.#localEnd = CLOSED;
    this.host.frames.data(this, NO_BYTES, true);
    this.#checkOver();
  }

  /** Ends both directions at once. Safe to call twice. */
  reset(status: ResetStatus = RESET_STATUS.CANCEL): void {
    if (!this.#isOver) this.host.frames.control({ type: "RST_STREAM", streamId: this.id, status });
    this.terminate(undefined, "the stream was reset");
    this.inbox.drop();
  }

  /** For the connection: it is about to close. As upstream, a stream whose side is closed is not reset. */
  resetForClose(): void {
    if (this.#localEnd !== undefined) return;
    this.host.frames.control({ type: "RST_STREAM", streamId: this.id, status: RESET_STATUS.CANCEL });
  }

  /** For the connection: a SYN_STREAM announced that this side sends nothing. */
  localEndSent(): void {
    this.#localEnd ??= CLOSED;
    this.#checkOver();
  }

  /** For the connection: the peer has closed its side. */
  remoteEnd(): void {
    this.#isRemoteEnded = true;
    this.inbox.end();
    this.#checkOver();
  }

  /** For the connection: the stream has no more frames. @param error for readers; undefined for a normal end */
  terminate(error: StreamError | undefined, why: string): void {
    this.#localEnd ??= error ?? why;
    if (error === undefined) this.inbox.end();
    else this.inbox.fail(error);
    this.#isRemoteEnded = true;
    this.#checkOver();
  }

  #writeError(): StreamError {
    return this.#localEnd instanceof StreamError ? this.#localEnd : new StreamError(this.#localEnd ?? CLOSED);
  }

  #enqueue(send: () => Promise<void>): Promise<void> {
    const mine = (this.#queue ?? DONE).then(send);
    // Later writers in the queue fail by themselves.
    const settled = mine.catch(() => {});
    this.#queue = settled;
    void settled.then(() => {
      if (this.#queue === settled) this.#queue = undefined;
    });
    return mine;
  }

  async #sendPieces(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#localEnd !== undefined) throw this.#writeError();
      const window = this.host.flow.room(this.window);
      if (window === 0) {
        await this.host.flow.changed();
        continue;
      }
      const size = Math.min(bytes.length - at, MAX_SENT_FRAME_BYTES, window);
      this.host.frames.data(this, bytes.subarray(at, at + size), false);
      at += size;
      await this.host.frames.room();
    }
  }

  #checkOver(): void {
    if (this.#isOver || this.#localEnd === undefined || !this.#isRemoteEnded) return;
    this.#isOver = true;
    this.host.streamOver(this);
    this.#resolveClosed();
  }
}
