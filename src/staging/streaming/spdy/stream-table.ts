import { AsyncQueue } from "../../../util/async/async-queue.js";
import { SmallMap } from "../../../util/collections/small-set.js";
import { StreamError } from "../bytes.js";
import { channelOf } from "./frame-report.js";
import { type ControlFrame, RESET_STATUS, type ResetStatus } from "./frames.js";
import type { SpdyHeaders } from "./header-block.js";
import { SpdyStream, type StreamHost } from "./stream.js";

const MAX_STREAM_ID = 0x7fffffff;

/** The streams of a connection, by ID: a client's are odd, a server's even, and each is higher than the one before. */
export class StreamTable {
  /** opened by the peer and not taken yet */
  readonly incoming: AsyncQueue<SpdyStream>;
  /** the peer's highest ID, 0 before the first */
  lastPeerId = 0;
  readonly #open = new SmallMap<SpdyStream>();
  #nextId: number;
  #isPeerLeaving = false;

  constructor(
    readonly role: "client" | "server",
    readonly maxStreams: number,
  ) {
    this.#nextId = role === "client" ? 1 : 2;
    this.incoming = new AsyncQueue(maxStreams);
  }

  get size(): number {
    return this.#open.size;
  }

  get(streamId: number): SpdyStream | undefined {
    return this.#open.get(streamId);
  }

  /** A copy, so that callers can end streams while they iterate. */
  all(): SpdyStream[] {
    return [...this.#open.values()];
  }

  /** Whether the peer neither opens nor accepts streams any more. */
  get isPeerLeaving(): boolean {
    return this.#isPeerLeaving;
  }

  /** Whether the peer is leaving, and has ended its side of all streams. */
  get isPeerDone(): boolean {
    if (!this.#isPeerLeaving) return false;
    for (const stream of this.#open.values()) if (!stream.isRemoteEnded) return false;
    return true;
  }

  /** Creates a stream of this side. @throws StreamError if there are too many, or the peer is leaving */
  open(headers: SpdyHeaders, host: StreamHost): SpdyStream {
    if (this.#isPeerLeaving) throw new StreamError("the peer accepts no more streams");
    if (this.#open.size >= this.maxStreams) throw new StreamError(`${this.#open.size} streams are open already`);
    const id = this.#nextId;
    if (id > MAX_STREAM_ID) throw new StreamError("Unable to get new stream id");
    this.#nextId += 2;
    const stream = new SpdyStream(id, headers, "us", host);
    this.#open.set(id, stream);
    return stream;
  }

  /**
   * Adds a stream that the peer opens.
   * @returns the reason to refuse it; undefined if it was added, or if the peer had already announced its end
   * @throws StreamError for an ID that the peer cannot use
   */
  take(frame: Extract<ControlFrame, { type: "SYN_STREAM" }>, host: StreamHost): ResetStatus | undefined {
    const { streamId } = frame;
    if (this.isOurs(streamId)) {
      throw new StreamError(`SYN_STREAM: stream id ${streamId} is for the ${this.role} to open`);
    }
    if (this.#isPeerLeaving) return undefined;
    // As upstream: concurrent openers may send their frames out of order.
    if (streamId <= this.lastPeerId) return RESET_STATUS.PROTOCOL_ERROR;
    this.lastPeerId = streamId;
    const stream = new SpdyStream(streamId, frame.headers, "peer", host);
    if (this.#open.size >= this.maxStreams || !this.incoming.push(stream)) return RESET_STATUS.REFUSED_STREAM;
    this.#open.set(streamId, stream);
    if (frame.unidirectional) stream.localEndSent();
    if (frame.fin) stream.remoteEnd();
    return undefined;
  }

  delete(stream: SpdyStream): void {
    this.#open.delete(stream.id);
  }

  /** The peer neither opens nor accepts streams any more. */
  peerLeaves(): void {
    this.#isPeerLeaving = true;
    this.incoming.close();
  }

  /** Whether this side assigns the ID. */
  isOurs(number: number): boolean {
    return (number & 1) === (this.#nextId & 1);
  }

  wasOpened(streamId: number): boolean {
    return this.isOurs(streamId) ? streamId < this.#nextId : streamId <= this.lastPeerId;
  }

  /** The purpose of a frame's stream. */
  channelOf(frame: ControlFrame): string | undefined {
    if (frame.type === "SYN_STREAM") return channelOf(frame.headers);
    return "streamId" in frame ? this.#open.get(frame.streamId)?.channel : undefined;
  }
}
