import type { Duplex } from "node:stream";
import type { Clock, Timer } from "../../util/clock.js";
import { GatheringWriter } from "../../util/gathering-writer.js";
import { StreamError } from "../bytes.js";
import { readBeforeFailing } from "../last-words.js";

/** What a Transport tells the connection on it. Called synchronously; must not throw. */
export interface TransportOwner {
  received(chunk: Buffer): void;
  /** Once: the peer has closed its side, or the connection broke. The transport is gone then. */
  lost(error: StreamError | undefined): void;
}

/** Bytes that wait to be sent, above which writers are asked to wait. */
const WRITE_HIGH_WATER_BYTES = 256 * 1024;
/** Above which nothing is read: a peer that makes us answer (PING, RST_STREAM) and does not read the answers. */
const BACKLOG_BYTES = 1024 * 1024;
/** How long a peer has to close its side after we closed ours. */
const LINGER_MS = 1_000;
const DONE = Promise.resolve();

/**
 * The socket below a SPDY connection: back-pressure both ways, frames that leave together, an orderly end.
 *
 * Works on any Duplex of Buffers: a TCP or TLS socket, or what a tunnel makes of WebSocket messages.
 */
export class Transport {
  /** Resolves (never rejects) when nothing of the socket is left. */
  readonly gone: Promise<void>;
  #state: "open" | "ending" | "gone" = "open";
  readonly #writer: GatheringWriter;
  #isPaused = false;
  #wantsPause = false;
  /** The peer takes nothing any more. */
  #isDeaf = false;
  #drained: { readonly promise: Promise<void>; resolve(): void; reject(error: StreamError): void } | undefined;
  /** while this side waits for the peer to take what was sent, and to close too */
  #lingering: Timer | undefined;

  constructor(
    readonly socket: Duplex,
    readonly owner: TransportOwner,
    readonly clock: Clock,
    head: Uint8Array,
  ) {
    readBeforeFailing(socket, () => {
      this.#isDeaf = true;
      this.#updateReading();
    });
    this.#writer = new GatheringWriter(socket);
    this.gone = new Promise((resolve) => {
      const onClose = () => {
        if (this.#state === "open") this.#end(new StreamError("the connection was closed"));
        this.#lingering?.stop();
        resolve();
      };
      // Its "close" may be over: the peer was gone before we began. The owner is not ready to hear of it at once.
      if (socket.destroyed) process.nextTick(onClose);
      else socket.once("close", onClose);
    });
    socket.on("error", (cause: Error) => {
      this.#end(new StreamError(`the connection broke: ${cause.message}`, { cause }));
      socket.destroy();
    });
    socket.on("drain", () => this.#onDrain());
    socket.on("end", () => {
      this.#end(undefined);
      socket.destroy();
    });
    if (socket.destroyed) return;
    if (head.length > 0) socket.unshift(Buffer.from(head));
    socket.on("data", (chunk: Buffer) => {
      if (this.#state === "open") owner.received(chunk);
    });
  }

  /** Sends a frame. Frames of one turn of the event loop leave in one system call. */
  send(head: Buffer, payload?: Uint8Array): void {
    if (this.#state !== "open" || this.socket.destroyed) return;
    this.#writer.write(head);
    if (payload !== undefined && payload.length > 0) this.#writer.write(payload);
    if (this.#writer.waitingBytes > BACKLOG_BYTES) this.#updateReading();
  }

  /** Resolves when there is room for more. @throws StreamError when the connection ends before */
  room(): Promise<void> {
    if (this.#writer.waitingBytes <= WRITE_HIGH_WATER_BYTES || this.#state !== "open") return DONE;
    if (this.#drained === undefined) {
      let resolve = () => {};
      let reject: (error: StreamError) => void = () => {};
      const promise = new Promise<void>((onDrain, onEnd) => {
        resolve = onDrain;
        reject = onEnd;
      });
      // Whoever waits hears of the end; when nobody does, it is no failure.
      promise.catch(() => {});
      this.#drained = { promise, resolve, reject };
    }
    return this.#drained.promise;
  }

  /** Stops reading, or goes on. */
  set isPaused(wanted: boolean) {
    this.#wantsPause = wanted;
    this.#updateReading();
  }

  /**
   * Sends what waits and closes our side; what the peer still sends is dropped. After a second the socket is destroyed:
   * from now on, or with `flush` from when all was handed to the system, for which there is `maxFlushMs`.
   */
  end(options: { readonly flush: boolean; readonly maxFlushMs: number }): void {
    if (this.#state !== "open") return;
    this.#state = "ending";
    this.#settleDrained(undefined, "the connection is closed");
    this.#updateReading();
    const { flush, maxFlushMs } = options;
    if (!flush) this.#linger();
    else if (maxFlushMs > 0) this.#lingering = this.clock.timer(maxFlushMs, () => this.#linger());
    this.#writer.flush();
    this.socket.end(() => {
      if (flush && !this.socket.destroyed) this.#linger();
    });
  }

  #linger(): void {
    this.#lingering?.stop();
    this.#lingering = this.clock.timer(LINGER_MS, () => this.socket.destroy());
  }

  #onDrain(): void {
    this.#drained?.resolve();
    this.#drained = undefined;
    this.#updateReading();
  }

  #updateReading(): void {
    const isOpen = this.#state === "open";
    const isBehind = !this.#isDeaf && this.#writer.waitingBytes > BACKLOG_BYTES;
    const pause = isOpen && (this.#wantsPause || isBehind);
    if (pause === this.#isPaused) return;
    this.#isPaused = pause;
    if (pause) this.socket.pause();
    else this.socket.resume();
  }

  #end(error: StreamError | undefined): void {
    const wasOpen = this.#state === "open";
    this.#state = "gone";
    if (!wasOpen) return;
    this.#settleDrained(error, "the peer closed the connection");
    this.owner.lost(error);
  }

  #settleDrained(error: StreamError | undefined, why: string): void {
    this.#drained?.reject(error ?? new StreamError(why));
    this.#drained = undefined;
  }
}
