import type { Duplex } from "node:stream";
import { AsyncQueue } from "../../util/async-queue.js";
import { NumberedBag } from "../../util/bag.js";
import type { Clock } from "../../util/clock.js";
import { StreamError } from "../bytes.js";
import type { FrameObserver } from "../frame-report.js";
import { FlowControl } from "./flow-control.js";
import { FrameLog } from "./frame-log.js";
import { type FramePart, FrameReader } from "./frame-reader.js";
import { channelOf, nameOf } from "./frame-report.js";
import {
  type ControlFrame,
  decodeControlFrame,
  encodeControlFrame,
  encodeDataHead,
  FRAME_HEAD_BYTES,
  GOAWAY_STATUS,
  type GoAwayStatus,
  RESET_STATUS,
  SETTING_INITIAL_WINDOW_SIZE,
} from "./frames.js";
import { HeaderCompressor, HeaderDecompressor, type SpdyHeaders } from "./header-block.js";
import { IdleWatch } from "./idle.js";
import { DEFAULT_SPDY_LIMITS, type SpdyLimits } from "./limits.js";
import { Openings } from "./openings.js";
import { SpdyStream, type StreamHost } from "./stream.js";
import { Transport, type TransportOwner } from "./transport.js";

const MAX_STREAM_ID = 0x7fffffff;
const CLOSED = "the connection is closed";

export interface SpdyDeps {
  readonly clock: Clock;
  readonly observer?: FrameObserver | undefined;
}

export interface SpdyOptions {
  /** bytes that came together with the upgrade's answer or request */
  readonly head?: Uint8Array;
  /** Without a frame for so long, all streams are reset and the connection is closed; undefined: never. */
  readonly idleTimeoutMs?: number | undefined;
  readonly limits?: Partial<SpdyLimits>;
}

/**
 * A SPDY/3.1 connection, as Kubernetes uses it: many streams in both directions on one socket.
 *
 * Mirrors github.com/moby/spdystream/connection.go (Connection).
 * Differs: a slow reader of one stream stops the whole connection after `maxBufferedBytes`, not after a queue of 50 frames;
 * what is bounded here is unbounded there; a peer that has windows is heeded, upstream's has none.
 */
export class SpdyConnection implements StreamHost, TransportOwner, AsyncDisposable {
  readonly #limits: SpdyLimits;
  readonly #transport: Transport;
  readonly #reader: FrameReader;
  readonly #compressor = new HeaderCompressor();
  readonly #decompressor: HeaderDecompressor;
  readonly #flow = new FlowControl();
  readonly #log: FrameLog | undefined;
  readonly #open = new NumberedBag<SpdyStream>();
  readonly #openings: Openings;
  readonly #incoming: AsyncQueue<SpdyStream>;
  #fullCount = 0;
  #bufferedBytes = 0;
  readonly #idle: IdleWatch | undefined;
  #nextId: number;
  #lastPeerId = 0;
  #peerGoAway: ControlFrame | undefined;
  #isClosing = false;
  #reason: StreamError | undefined;
  #over: AbortController | undefined;
  #windowChange: { readonly promise: Promise<void>; resolve(): void } | undefined;

  /** Resolves (never rejects) when the socket is gone: with undefined after an orderly end, else with what went wrong. */
  readonly closed: Promise<StreamError | undefined>;

  /** @param socket from now on the connection's own */
  constructor(
    socket: Duplex,
    readonly role: "client" | "server",
    readonly deps: SpdyDeps,
    options: SpdyOptions = {},
  ) {
    this.#limits = { ...DEFAULT_SPDY_LIMITS, ...options.limits };
    this.#reader = new FrameReader(this.#limits);
    this.#decompressor = new HeaderDecompressor(this.#limits.maxHeaderBytes);
    this.#incoming = new AsyncQueue(this.#limits.maxStreams);
    this.#log = deps.observer === undefined ? undefined : new FrameLog(deps.observer);
    this.#nextId = role === "client" ? 1 : 2;
    this.#openings = new Openings(deps.clock);
    const { idleTimeoutMs } = options;
    this.#idle = idleTimeoutMs === undefined ? undefined : new IdleWatch(deps.clock, idleTimeoutMs);
    this.#transport = new Transport(socket, this, deps.clock, options.head ?? new Uint8Array(0));
    this.closed = this.#transport.gone.then(() => this.#reason);
    void this.#idle?.expired().then((isExpired) => isExpired && this.#shutDownIdle());
  }

  /**
   * The streams that the peer opens, each to be answered with `accept` or `reset`; ends with the connection. What is not
   * taken counts against `maxStreams`.
   */
  get streams(): AsyncIterable<SpdyStream> {
    return this.#incoming;
  }

  /** What has arrived and was not read yet, of all streams. */
  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  /** Aborts when no stream can be used any more, by either side's doing; `closed` follows when the socket is gone. */
  get over(): AbortSignal {
    if (this.#over === undefined) {
      this.#over = new AbortController();
      if (this.#isClosing) this.#over.abort(this.#whyClosed());
    }
    return this.#over.signal;
  }

  /**
   * Opens a stream and waits for the peer's answer: what is sent before it, upstream's peers drop.
   *
   * @param options.fin our side is closed from the start
   * @throws StreamError when the peer refuses, does not answer within 30 s, or the connection is gone
   */
  async open(
    headers: SpdyHeaders,
    options: { readonly fin?: boolean; readonly signal?: AbortSignal } = {},
  ): Promise<SpdyStream> {
    options.signal?.throwIfAborted();
    if (this.#isClosing) throw this.#whyClosed();
    if (this.#peerGoAway !== undefined) throw new StreamError("the peer takes no more streams");
    if (this.#open.size >= this.#limits.maxStreams)
      throw new StreamError(`${this.#open.size} streams are open already`);
    const id = this.#nextId;
    if (id > MAX_STREAM_ID) throw new StreamError("Unable to get new stream id");
    this.#nextId += 2;
    const stream = new SpdyStream(id, headers, "us", this);
    this.#open.set(id, stream);
    const fin = options.fin ?? false;
    const answer = this.#openings.wait(stream, options.signal);
    this.sendControl({ type: "SYN_STREAM", streamId: id, headers, fin, unidirectional: false });
    if (fin) stream.localEndSent();
    await answer;
    return stream;
  }

  /** Resets all streams and closes the connection: GOAWAY, then our side of the socket. Safe to call twice. */
  async close(): Promise<void> {
    this.#shutDown(undefined, GOAWAY_STATUS.OK, false);
    await this.#transport.gone;
  }

  /** As `close`, but waits until the peer has taken what was written before, however slow it is (up to the idle timeout). */
  async finish(): Promise<void> {
    this.#shutDown(undefined, GOAWAY_STATUS.OK, true);
    await this.#transport.gone;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // What streams ask for.

  sendControl(frame: ControlFrame): void {
    if (this.#isClosing) return;
    const bytes = encodeControlFrame(frame, this.#compressor);
    this.#idle?.touch();
    this.#log?.control("sent", frame, this.#channelOf(frame), bytes.length - FRAME_HEAD_BYTES);
    this.#transport.send(bytes);
  }

  sendData(stream: SpdyStream, bytes: Uint8Array, fin: boolean): void {
    if (this.#isClosing) return;
    this.#idle?.touch();
    stream.window.sent += bytes.length;
    this.#flow.connection.sent += bytes.length;
    this.#log?.sentData(stream, bytes, fin);
    this.#transport.send(encodeDataHead(stream.id, bytes.length, fin), bytes);
  }

  room(): Promise<void> {
    return this.#transport.room();
  }

  windowOf(stream: SpdyStream): number {
    return this.#flow.room(stream.window);
  }

  windowChange(): Promise<void> {
    if (this.#windowChange === undefined) {
      let resolve = () => {};
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#windowChange = { promise, resolve };
    }
    return this.#windowChange.promise;
  }

  streamOver(stream: SpdyStream): void {
    this.#open.delete(stream.id);
    this.#wakeWriters();
    this.#endWhenDone();
  }

  taken(stream: SpdyStream, bytes: number, freed: number): void {
    this.#bufferedBytes -= freed;
    if (stream.isFull && stream.inbox.weight <= this.#limits.maxBufferedBytes / 2) {
      stream.isFull = false;
      this.#fullCount--;
    }
    if (freed > 0) this.#updatePause();
    if (!stream.isRemoteEnded) this.#credit(stream.id, stream.window.take(bytes, this.#flow.isOn));
    this.#credit(0, this.#flow.connection.take(bytes, this.#flow.isOn));
  }

  // What the socket tells.

  received(chunk: Buffer): void {
    this.#idle?.touch();
    try {
      for (const part of this.#reader.read(chunk)) {
        this.#take(part);
        if (this.#isClosing) return;
      }
    } catch (error) {
      const isPeers = error instanceof StreamError;
      const reason = isPeers ? error : new StreamError(`internal error: ${String(error)}`, { cause: error });
      this.#shutDown(reason, isPeers ? GOAWAY_STATUS.PROTOCOL_ERROR : GOAWAY_STATUS.INTERNAL_ERROR, false);
    }
  }

  lost(error: StreamError | undefined): void {
    if (this.#isClosing) return;
    const wasOrderly = this.#peerGoAway !== undefined || (this.#open.size === 0 && !this.#reader.isWithinFrame);
    this.#settle(error ?? (wasOrderly ? undefined : new StreamError("the peer closed the connection")));
  }

  #take(part: FramePart): void {
    if (part.kind === "data") {
      this.#takeData(part);
      return;
    }
    const frame = decodeControlFrame(part.type, part.flags, part.body, this.#decompressor);
    if (frame === undefined) return;
    this.#log?.control("received", frame, this.#channelOf(frame), part.body.length);
    this.#takeControl(frame);
  }

  #takeData(part: Extract<FramePart, { kind: "data" }>): void {
    const stream = this.#open.get(part.streamId);
    this.#log?.receivedData(part, stream?.channel);
    if (stream === undefined || stream.isRemoteEnded) {
      if (part.frameLength !== undefined && !this.#wasOpened(part.streamId)) {
        this.sendControl({ type: "RST_STREAM", streamId: part.streamId, status: RESET_STATUS.INVALID_STREAM });
      }
      this.#credit(0, this.#flow.connection.take(part.piece.length, this.#flow.isOn));
      return;
    }
    this.#bufferedBytes += stream.inbox.push(part.piece);
    if (stream.inbox.weight > this.#limits.maxBufferedBytes && !stream.isFull) {
      stream.isFull = true;
      this.#fullCount++;
    }
    this.#updatePause();
    if (part.fin) this.#remoteEnd(part.streamId);
  }

  /** One stream that nobody reads stops all of them, as upstream: a peer without windows can only be stopped as a whole. */
  #updatePause(): void {
    this.#transport.isPaused = this.#fullCount > 0 || this.#bufferedBytes > this.#limits.maxConnectionBufferedBytes;
  }

  #takeControl(frame: ControlFrame): void {
    switch (frame.type) {
      case "SYN_STREAM":
        this.#takeSynStream(frame);
        return;
      case "SYN_REPLY":
        this.#openings.accepted(frame.streamId);
        if (frame.fin) this.#remoteEnd(frame.streamId);
        return;
      case "HEADERS":
        if (frame.fin) this.#remoteEnd(frame.streamId);
        return;
      case "RST_STREAM":
        this.#takeReset(frame.streamId, frame.status);
        return;
      case "PING":
        // Its number tells who asked. We never ask.
        if ((frame.pingId & 1) !== (this.#nextId & 1)) this.sendControl(frame);
        return;
      case "GOAWAY":
        this.#takeGoAway(frame);
        return;
      case "SETTINGS":
        this.#flow.turnOn(frame.settings.find(({ id }) => id === SETTING_INITIAL_WINDOW_SIZE)?.value);
        this.#wakeWriters();
        return;
      case "WINDOW_UPDATE": {
        this.#flow.turnOn();
        const window = frame.streamId === 0 ? this.#flow.connection : this.#open.get(frame.streamId)?.window;
        if (window !== undefined) window.granted += frame.delta;
        this.#wakeWriters();
        return;
      }
    }
  }

  #takeSynStream(frame: Extract<ControlFrame, { type: "SYN_STREAM" }>): void {
    const { streamId } = frame;
    if ((streamId & 1) === (this.#nextId & 1)) {
      throw new StreamError(`SYN_STREAM: stream id ${streamId} is for the ${this.role} to open`);
    }
    if (this.#peerGoAway !== undefined) return;
    // As upstream: whoever opens streams side by side may send their frames out of order.
    if (streamId <= this.#lastPeerId) {
      this.sendControl({ type: "RST_STREAM", streamId, status: RESET_STATUS.PROTOCOL_ERROR });
      return;
    }
    this.#lastPeerId = streamId;
    const stream = new SpdyStream(streamId, frame.headers, "peer", this);
    if (this.#open.size >= this.#limits.maxStreams || !this.#incoming.push(stream)) {
      this.sendControl({ type: "RST_STREAM", streamId, status: RESET_STATUS.REFUSED_STREAM });
      return;
    }
    this.#open.set(streamId, stream);
    if (frame.unidirectional) stream.localEndSent();
    if (frame.fin) stream.remoteEnd();
  }

  #remoteEnd(streamId: number): void {
    this.#open.get(streamId)?.remoteEnd();
    this.#endWhenDone();
  }

  #takeReset(streamId: number, status: number): void {
    const why = `the peer reset the stream: ${nameOf(RESET_STATUS, status)}`;
    const error = status === RESET_STATUS.CANCEL ? undefined : new StreamError(why);
    this.#open.get(streamId)?.terminate(error, why);
    this.#openings.refused(
      () => new StreamError(why),
      (id) => id === streamId,
    );
  }

  #takeGoAway(frame: Extract<ControlFrame, { type: "GOAWAY" }>): void {
    this.#peerGoAway ??= frame;
    if (frame.status !== GOAWAY_STATUS.OK) {
      this.#reason ??= new StreamError(`the peer ended the connection: ${nameOf(GOAWAY_STATUS, frame.status)}`);
    }
    this.#incoming.close();
    this.#openings.refused(
      () => new StreamError("the peer takes no more streams"),
      (id) => id > frame.lastStreamId,
    );
    this.#endWhenDone();
  }

  /** After the peer's GOAWAY, when all that it had to say was said. */
  #endWhenDone(): void {
    if (this.#peerGoAway === undefined || this.#isClosing) return;
    for (const stream of this.#open.values()) if (!stream.isRemoteEnded) return;
    this.#shutDown(this.#reason, GOAWAY_STATUS.OK, false);
  }

  #shutDown(reason: StreamError | undefined, status: GoAwayStatus, flush: boolean): void {
    if (this.#isClosing) return;
    for (const stream of [...this.#open.values()]) stream.resetForClose();
    this.sendControl({ type: "GOAWAY", lastStreamId: this.#lastPeerId, status });
    this.#settle(reason);
    this.#transport.end({ flush, maxFlushMs: this.#idle?.timeoutMs ?? 0 });
  }

  #settle(reason: StreamError | undefined): void {
    this.#isClosing = true;
    this.#reason ??= reason;
    this.#idle?.stop();
    this.#incoming.close();
    this.#openings.refused(() => this.#whyClosed());
    for (const stream of [...this.#open.values()]) stream.terminate(this.#reason, this.#reason?.message ?? CLOSED);
    this.#wakeWriters();
    this.#over?.abort(this.#whyClosed());
  }

  /** Made only for who wants to know: an error collects its stack, which is dear. */
  #whyClosed(): StreamError {
    return this.#reason ?? new StreamError(CLOSED);
  }

  #shutDownIdle(): void {
    const idleSeconds = (this.#idle?.timeoutMs ?? 0) / 1000;
    this.#shutDown(new StreamError(`the connection was idle for ${idleSeconds} s`), GOAWAY_STATUS.OK, false);
  }

  #credit(streamId: number, delta: number): void {
    if (delta > 0 && !this.#isClosing) this.sendControl({ type: "WINDOW_UPDATE", streamId, delta });
  }

  #wakeWriters(): void {
    this.#windowChange?.resolve();
    this.#windowChange = undefined;
  }

  #wasOpened(streamId: number): boolean {
    return (streamId & 1) === (this.#nextId & 1) ? streamId < this.#nextId : streamId <= this.#lastPeerId;
  }

  #channelOf(frame: ControlFrame): string | undefined {
    if (frame.type === "SYN_STREAM") return channelOf(frame.headers);
    return "streamId" in frame ? this.#open.get(frame.streamId)?.channel : undefined;
  }
}
