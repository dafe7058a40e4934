import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Clock } from "../../../util/clock.js";
import type { Timer } from "../../../util/timer.js";
import { StreamError } from "../bytes.js";
import type { FrameObserver } from "../frame-report.js";
import { IdleWatch } from "../idle.js";

/** Receives a socket's messages. Called in order, synchronously. */
export interface MessageTaker {
  take(message: Buffer, isBinary: boolean): void;
  /** The last call. @param error absent if the other side closed normally */
  ended(error: StreamError | undefined): void;
}

export interface MessageSocketDeps {
  readonly clock: Clock;
  readonly observer?: FrameObserver;
}

export interface MessageSocketOptions {
  /** The connection closes without a message in either direction for this long; absent: no limit. */
  readonly idleTimeoutMs?: number;
  /** Pings, and a time limit for the answers. Mirrors heartbeat in client-go/tools/remotecommand/websocket.go. */
  readonly heartbeat?: { readonly periodMs: number; readonly deadlineMs: number };
  /** time limit for the answer to a close; default 10 s */
  readonly closeAnswerMs?: number;
  /** additional time while the other side still receives earlier bytes; default 15 min */
  readonly finishMs?: number;
  /** servers: the underlying socket, which is ended right after the close, as upstream does */
  readonly socket?: Duplex;
}

/** Unsent bytes above which senders wait. */
const MAX_UNSENT_BYTES = 1 << 20;
const CLOSE_ANSWER_MS = 10_000;
/** The time that a slow reader has for bytes sent before a close. Mirrors finishTimeout of the API server. */
const FINISH_MS = 15 * 60_000;

const CLOSE_NORMAL = 1000;
/** a normal close, or a close without a code */
const ORDERLY_CODES = new Set([CLOSE_NORMAL, 1001, 1005]);
const SENT = Promise.resolve();

/**
 * One end of a WebSocket: whole messages in and out, with back-pressure, idle timeout and close.
 *
 * Differs: the library answers pings and checks frames; a violation of the protocol is answered with a close and its
 * code.
 */
export class MessageSocket {
  #isOver = false;
  #silence: IdleWatch | undefined;
  #pinging: Timer | undefined;
  #closeAnswer: Timer | undefined;
  readonly closed: Promise<void>;
  #closing: Promise<void> | undefined;
  #waiters: (() => void)[] = [];
  #problem: string | undefined;

  constructor(
    readonly ws: WebSocket,
    readonly taker: MessageTaker,
    readonly deps: MessageSocketDeps,
    readonly options: MessageSocketOptions = {},
  ) {
    this.closed = new Promise((resolve) => {
      if (ws.readyState === ws.CLOSED) resolve();
      else ws.once("close", () => resolve());
    });
    ws.on("message", (message, isBinary) => {
      this.#silence?.touch();
      taker.take(message as Buffer, isBinary);
    });
    ws.on("ping", (head) => this.#report("received", "ping", head));
    ws.on("pong", (head) => {
      this.#silence?.touch();
      this.#report("received", "pong", head);
    });
    ws.on("error", (error) => {
      this.#problem ??= error.message;
      void this.#awaitClose();
    });
    ws.on("close", (code, reason) => this.#ended(code, reason.toString()));
    const { idleTimeoutMs, heartbeat } = options;
    // The connection ended before there was a listener.
    if (ws.readyState === ws.CLOSED) {
      queueMicrotask(() => this.#ended(1006, ""));
      return;
    }
    ws.resume();
    const limitsMs = [idleTimeoutMs, heartbeat?.deadlineMs].filter((one) => one !== undefined);
    if (limitsMs.length > 0) this.#limitSilence(Math.min(...limitsMs));
    if (heartbeat !== undefined) this.#pingAfter(heartbeat.periodMs);
  }

  /**
   * Resolves when there is room for more.
   * @throws StreamError if the connection is over
   */
  send(message: Uint8Array | string): Promise<void> {
    const { ws } = this;
    if (this.#closing !== undefined || ws.readyState !== ws.OPEN) return Promise.reject(this.#gone());
    this.#silence?.touch();
    ws.send(message, { binary: typeof message !== "string" }, this.#onSent);
    return ws.bufferedAmount <= MAX_UNSENT_BYTES ? SENT : this.#untilSent();
  }

  async #untilSent(): Promise<void> {
    while (!this.#isOver) {
      if (this.ws.bufferedAmount <= MAX_UNSENT_BYTES) return;
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
    throw this.#gone();
  }

  readonly #onSent = (error?: Error | null): void => {
    if (error) this.#problem ??= error.message;
    if (this.#waiters.length > 0 && this.ws.bufferedAmount <= MAX_UNSENT_BYTES / 2) this.#wakeAll();
  };

  #wakeAll(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  /** Pauses reading, which the other side will notice. Bytes that were read already are still delivered. */
  pause(): void {
    this.ws.pause();
  }

  resume(): void {
    this.ws.resume();
  }

  /**
   * Announces the end after everything was sent, and waits a limited time for the other side's answer.
   * @param code RFC 6455 section 7.4.1
   */
  close(code = CLOSE_NORMAL, reason = ""): Promise<void> {
    this.#closing ??= this.#close(code, reason);
    return this.#closing;
  }

  async #close(code: number, reason: string): Promise<void> {
    if (this.ws.readyState === this.ws.OPEN) {
      this.#report("sent", "close", Buffer.from(reason), String(code));
      this.ws.close(code, Buffer.from(reason).subarray(0, 123));
      this.options.socket?.end();
    }
    await this.#awaitClose();
  }

  async #awaitClose(): Promise<void> {
    // The answer comes after all unread bytes.
    this.ws.resume();
    const { finishMs = FINISH_MS } = this.options;
    if (!this.#isOver && this.#closeAnswer === undefined) this.#limitClose(this.deps.clock.now() + finishMs);
    await this.closed;
  }

  /** @param endMs Unix ms; the time limit for a slow reader */
  #limitClose(endMs: number): void {
    const { clock } = this.deps;
    const { closeAnswerMs = CLOSE_ANSWER_MS } = this.options;
    this.#closeAnswer = clock.timer(closeAnswerMs, () => {
      if (this.ws.bufferedAmount > 0 && clock.now() < endMs) this.#limitClose(endMs);
      else this.ws.terminate();
    });
  }

  /** Closes the connection at once. Safe to call twice. */
  terminate(why: string): void {
    this.#problem ??= why;
    this.ws.terminate();
  }

  #ended(code: number, reason: string): void {
    const isOrderly = this.#problem === undefined && ORDERLY_CODES.has(code);
    if (code !== 1006) this.#report("received", "close", Buffer.from(reason), String(code));
    if (!isOrderly) this.#problem ??= closeProblem(code, reason);
    this.#isOver = true;
    for (const timer of [this.#silence, this.#pinging, this.#closeAnswer]) timer?.stop();
    this.#wakeAll();
    this.taker.ended(isOrderly ? undefined : this.#gone());
  }

  #gone(): StreamError {
    return new StreamError(this.#problem ?? "the connection is closed");
  }

  #limitSilence(limitMs: number): void {
    this.#silence = new IdleWatch(this.deps.clock, limitMs, () =>
      this.terminate(`nothing was sent or received for ${limitMs / 1000} s`),
    );
  }

  #pingAfter(periodMs: number): void {
    this.#pinging = this.deps.clock.timer(periodMs, () => {
      if (this.ws.readyState !== this.ws.OPEN) return;
      this.#report("sent", "ping", Buffer.alloc(0));
      this.ws.ping();
      this.#pingAfter(periodMs);
    });
  }

  #report(direction: "sent" | "received", type: string, payload: Buffer, note?: string): void {
    const head = payload.subarray(0, 64);
    this.deps.observer?.({
      direction,
      framing: "WebSocket",
      type,
      length: payload.length,
      head,
      ...(note === undefined ? {} : { note }),
    });
  }
}

function closeProblem(code: number, reason: string): string {
  if (code === 1006) return "the other side disconnected without a close";
  return `the other side closed with ${code}${reason === "" ? "" : `: ${reason}`}`;
}
