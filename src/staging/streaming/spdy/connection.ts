import type { Duplex } from "node:stream";
import type { Clock } from "../../../util/clock.js";
import { StreamError } from "../bytes.js";
import type { FrameObserver } from "../frame-report.js";
import { IdleWatch } from "../idle.js";
import { Backlog } from "./backlog.js";
import { FlowControl } from "./flow-control.js";
import { FrameLog } from "./frame-log.js";
import { FrameReceiver, type FrameReceiverOwner } from "./frame-receiver.js";
import { FrameSender } from "./frame-sender.js";
import { GOAWAY_STATUS, type GoAwayStatus } from "./frames.js";
import type { SpdyHeaders } from "./header-block.js";
import { DEFAULT_SPDY_LIMITS, type SpdyLimits } from "./limits.js";
import { Openings } from "./openings.js";
import type { SpdyStream } from "./stream.js";
import { StreamTable } from "./stream-table.js";
import { Transport, type TransportOwner } from "./transport.js";

const CLOSED = "the connection is closed";
/** Created once, because an error collects its stack, which is expensive, and most connections end this way. */
const ORDERLY_END = new StreamError(CLOSED);

export interface SpdyDeps {
  readonly clock: Clock;
  readonly observer?: FrameObserver | undefined;
}

export interface SpdyOptions {
  /** bytes that were received with the upgrade's answer or request */
  readonly head?: Uint8Array;
  /** Without a frame for this long, all streams are reset and the connection closes; undefined: never. */
  readonly idleTimeoutMs?: number | undefined;
  readonly limits?: Partial<SpdyLimits>;
}

/**
 * A SPDY/3.1 connection, as Kubernetes uses it: many streams in both directions on one socket.
 *
 * Mirrors github.com/moby/spdystream/connection.go (Connection). Differs: a slow reader of one stream stops the whole
 * connection after `maxBufferedBytes`, not after a queue of 50 frames; the limits here do not exist upstream; the
 * windows of a peer are respected, upstream has none.
 */
export class SpdyConnection implements FrameReceiverOwner, TransportOwner, AsyncDisposable {
  readonly frames: FrameSender;
  readonly flow = new FlowControl();
  readonly #streams: StreamTable;
  readonly #openings: Openings;
  readonly #backlog: Backlog;
  readonly #transport: Transport;
  readonly #receiver: FrameReceiver;
  readonly #idle: IdleWatch | undefined;
  #isClosing = false;
  #reason: StreamError | undefined;
  #over: AbortController | undefined;

  /** Resolves (never rejects) when the socket is closed: with undefined after an orderly end, else with the error. */
  readonly closed: Promise<StreamError | undefined>;

  /** @param socket owned by the connection from now on */
  constructor(
    socket: Duplex,
    readonly role: "client" | "server",
    readonly deps: SpdyDeps,
    options: SpdyOptions = {},
  ) {
    const limits = { ...DEFAULT_SPDY_LIMITS, ...options.limits };
    const { idleTimeoutMs } = options;
    const log = deps.observer === undefined ? undefined : new FrameLog(deps.observer);
    const streams = new StreamTable(role, limits.maxStreams);
    const openings = new Openings(deps.clock);
    const idle =
      idleTimeoutMs === undefined
        ? undefined
        : new IdleWatch(deps.clock, idleTimeoutMs, () => this.#shutDownIdle(idleTimeoutMs));
    const transport = new Transport(socket, this, deps.clock, options.head ?? new Uint8Array(0));
    const backlog = new Backlog(transport, limits);
    this.frames = new FrameSender({ transport, streams, flow: this.flow, idle, log });
    this.#receiver = new FrameReceiver({ streams, openings, backlog, log, limits }, this);
    this.#streams = streams;
    this.#openings = openings;
    this.#idle = idle;
    this.#transport = transport;
    this.#backlog = backlog;
    this.closed = this.#transport.gone.then(() => this.#reason);
  }

  /**
   * The streams that the peer opens, to be answered with `accept` or `reset`; ends with the connection. Untaken streams
   * count towards `maxStreams`.
   */
  get streams(): AsyncIterable<SpdyStream> {
    return this.#streams.incoming;
  }

  /** Nothing is sent or received any more. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** The received but unread bytes of all streams. */
  get bufferedBytes(): number {
    return this.#backlog.bytes;
  }

  /**
   * Aborts when no stream is usable any more, for either side's reasons; `closed` follows when the socket is closed.
   */
  get over(): AbortSignal {
    if (this.#over === undefined) {
      this.#over = new AbortController();
      if (this.#isClosing) this.#over.abort(this.#reason ?? ORDERLY_END);
    }
    return this.#over.signal;
  }

  /**
   * Opens a stream and waits for the peer's answer, because upstream's peers drop bytes that are sent earlier.
   *
   * @param options.fin our side is closed from the start
   * @throws StreamError if the peer refuses or does not answer within 30 s, or the connection is gone
   */
  async open(headers: SpdyHeaders, { fin = false }: { readonly fin?: boolean } = {}): Promise<SpdyStream> {
    if (this.#isClosing) throw this.#whyClosed();
    const stream = this.#streams.open(headers, this);
    const answer = this.#openings.wait(stream);
    this.frames.control({ type: "SYN_STREAM", streamId: stream.id, headers, fin, unidirectional: false });
    if (fin) stream.localEndSent();
    await answer;
    return stream;
  }

  /** Resets all streams and closes the connection: GOAWAY, then our side of the socket. Safe to call twice. */
  async close(): Promise<void> {
    this.#shutDown(undefined, GOAWAY_STATUS.OK, false);
    await this.#transport.gone;
  }

  /**
   * As `close`, but first waits until the peer has received everything, however slow it is (up to the idle timeout).
   */
  async finish(): Promise<void> {
    this.#shutDown(undefined, GOAWAY_STATUS.OK, true);
    await this.#transport.gone;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // Events of streams.

  streamOver(stream: SpdyStream): void {
    this.#streams.delete(stream);
    this.flow.wakeWriters();
    this.#endWhenDone();
  }

  taken(stream: SpdyStream, bytes: number, freed: number): void {
    this.#backlog.freed(stream, freed);
    if (!stream.isRemoteEnded) this.frames.credit(stream.id, stream.window.take(bytes, this.flow.isOn));
    this.frames.credit(0, this.flow.connection.take(bytes, this.flow.isOn));
  }

  // Events of the socket and the peer.

  received(chunk: Buffer): void {
    this.#idle?.touch();
    try {
      this.#receiver.take(chunk);
    } catch (error) {
      const isPeers = error instanceof StreamError;
      const reason = isPeers ? error : new StreamError(`internal error: ${String(error)}`, { cause: error });
      this.#shutDown(reason, isPeers ? GOAWAY_STATUS.PROTOCOL_ERROR : GOAWAY_STATUS.INTERNAL_ERROR, false);
    }
  }

  lost(error: StreamError | undefined): void {
    if (this.#isClosing) return;
    const wasOrderly = this.#streams.isPeerLeaving || (this.#streams.size === 0 && !this.#receiver.isWithinFrame);
    this.#settle(error ?? (wasOrderly ? undefined : new StreamError("the peer closed the connection")));
  }

  /** The first error is the reason for the connection's end. */
  peerEnded(error: StreamError | undefined): void {
    this.#reason ??= error;
    this.#endWhenDone();
  }

  /** After the peer's GOAWAY, once everything from it was received. */
  #endWhenDone(): void {
    if (this.#isClosing || !this.#streams.isPeerDone) return;
    this.#shutDown(this.#reason, GOAWAY_STATUS.OK, false);
  }

  #shutDown(reason: StreamError | undefined, status: GoAwayStatus, flush: boolean): void {
    if (this.#isClosing) return;
    for (const stream of this.#streams.all()) stream.resetForClose();
    this.frames.control({ type: "GOAWAY", lastStreamId: this.#streams.lastPeerId, status });
    this.#settle(reason);
    this.#transport.end({ flush, maxFlushMs: this.#idle?.timeoutMs ?? 0 });
  }

  #settle(reason: StreamError | undefined): void {
    this.#isClosing = true;
    this.frames.stop();
    this.#reason ??= reason;
    this.#idle?.stop();
    this.#streams.incoming.close();
    this.#openings.refused(() => this.#whyClosed());
    for (const stream of this.#streams.all()) stream.terminate(this.#reason, this.#reason?.message ?? CLOSED);
    this.flow.wakeWriters();
    this.#over?.abort(this.#reason ?? ORDERLY_END);
  }

  /** Created on demand, because an error collects its stack, which is expensive. */
  #whyClosed(): StreamError {
    return this.#reason ?? new StreamError(CLOSED);
  }

  #shutDownIdle(timeoutMs: number): void {
    this.#shutDown(new StreamError(`the connection was idle for ${timeoutMs / 1000} s`), GOAWAY_STATUS.OK, false);
  }
}
