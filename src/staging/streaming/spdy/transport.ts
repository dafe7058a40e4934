import type { Duplex } from "node:stream";
import type { Clock } from "../../../util/clock.js";
import { GatheringWriter } from "../../../util/net/gathering-writer.js";
import type { Timer } from "../../../util/timer.js";
import { StreamError } from "../bytes.js";
import { readBeforeFailing } from "../last-words.js";

/** The events of a Transport. Called synchronously; must not throw. */
export interface TransportOwner {
  received(chunk: Buffer): void;
  /** Called once: the peer has closed its side, or the connection broke. The transport is closed then. */
  lost(error: StreamError | undefined): void;
}

/** Unsent bytes above which writers wait. */
const WRITE_HIGH_WATER_BYTES = 256 * 1024;
/** Unsent bytes above which reading stops: a peer may cause answers (PING, RST_STREAM) without reading them. */
const BACKLOG_BYTES = 1024 * 1024;
/** The time that a peer has to close its side after ours. */
const LINGER_MS = 1_000;
const DONE = Promise.resolve();

/**
 * The socket of a SPDY connection: back-pressure both ways, batched frames, an orderly end.
 *
 * Works on any Duplex of Buffers: a TCP or TLS socket, or a tunnel of WebSocket messages.
 */
export class Transport {
  /** Resolves (never rejects) when the socket is closed. */
  readonly gone: Promise<void>;
  #state: "open" | "ending" | "gone" = "open";
  readonly #writer: GatheringWriter;
  #isPaused = false;
  #wantsPause = false;
  /** The peer no longer accepts bytes. */
  #isDeaf = false;
  #drained: { readonly promise: Promise<void>; resolve(): void; reject(error: StreamError): void } | undefined;
  /** while this side waits until the peer has received everything and has closed too */
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
      // "close" may have fired before. The owner is not ready for a synchronous call.
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

  /** Sends a frame. The frames of one turn of the event loop go out in one system call. */
  send(head: Buffer, payload?: Uint8Array): void {
    if (this.#state !== "open" || this.socket.destroyed) return;
    this.#writer.write(head);
    if (payload !== undefined && payload.length > 0) this.#writer.write(payload);
    if (this.#writer.waitingBytes > BACKLOG_BYTES) this.#updateReading();
  }

  /** Resolves when there is room for more. @throws StreamError if the connection ends first */
  room(): Promise<void> {
    if (this.#writer.waitingBytes <= WRITE_HIGH_WATER_BYTES || this.#state !== "open") return DONE;
    if (this.#drained === undefined) {
      let resolve = () => {};
      let reject: (error: StreamError) => void = () => {};
      const promise = new Promise<void>((onDrain, onEnd) => {
        resolve = onDrain;
        reject = onEnd;
      });
      // Waiting callers see the end; without any it is not an error.
      promise.catch(() => {});
      this.#drained = { promise, resolve, reject };
    }
    return this.#drained.promise;
  }

  /** Pauses or resumes reading. */
  set isPaused(wanted: boolean) {
    this.#wantsPause = wanted;
    this.#updateReading();
  }

  /**
   * Sends the rest and closes our side; drops what the peer still sends. Destroys the socket after a second: from now
   * on, or with `flush` from when the system has accepted everything, which may take `maxFlushMs`.
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
