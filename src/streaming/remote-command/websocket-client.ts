import type { Status } from "../../apimachinery/api/meta.js";
import type { Clock } from "../../util/clock.js";
import type { ByteQueue } from "../byte-queue.js";
import { type ByteReader, type ByteWriter, StreamError } from "../bytes.js";
import type { FrameObserver } from "../frame-report.js";
import { ChannelConnection } from "../websocket/channels.js";
import type { ConnectedWebSocket } from "../websocket/connect.js";
import { hasStatus } from "../websocket/subprotocols.js";
import type { NegotiatedProtocol, RemoteCommandClientSession, RemoteCommandOptions, TerminalSize } from "./session.js";
import { parseErrorStream } from "./status-text.js";
import { terminalSizeText } from "./terminal-size.js";
import { CHANNEL, channelName } from "./websocket-channels.js";

export interface WebSocketRemoteCommandOptions {
  readonly options: RemoteCommandOptions;
  readonly clock: Clock;
  readonly observer?: FrameObserver;
}

/** Mirrors pingPeriod and pingReadDeadline in client-go/tools/remotecommand/websocket.go. */
const HEARTBEAT = { periodMs: 5_000, deadlineMs: 61_000 };
/** Whoever ends a session does not wait long for a server that does not answer. */
const CLOSE_ANSWER_MS = 1_000;
/** A Status is some hundred bytes, with the words of a runtime some thousand. */
const MAX_STATUS_BYTES = 1 << 20;

/**
 * The client's side of a remote command over a WebSocket that is connected already (`connectWebSocket`).
 *
 * Mirrors client-go/tools/remotecommand/websocket.go (wsStreamExecutor) and v5.go.
 */
export function webSocketRemoteCommand(
  { ws, subprotocol }: ConnectedWebSocket,
  { options, clock, observer }: WebSocketRemoteCommandOptions,
): RemoteCommandClientSession {
  const deps = { clock, ...(observer === undefined ? {} : { observer }) };
  const connection = new ChannelConnection(ws, deps, {
    subprotocol,
    nameOf: channelName,
    heartbeat: HEARTBEAT,
    closeAnswerMs: CLOSE_ANSWER_MS,
    // What waits is input for a command that is over, or that nobody wants any more.
    finishMs: 0,
  });
  return new WebSocketClientSession(connection, options);
}

class WebSocketClientSession implements RemoteCommandClientSession {
  readonly protocol: NegotiatedProtocol;
  readonly stdin: ByteWriter | undefined;
  readonly stdout: ByteReader | undefined;
  readonly stderr: ByteReader | undefined;
  readonly status: Promise<Status>;

  constructor(
    readonly connection: ChannelConnection,
    readonly options: RemoteCommandOptions,
  ) {
    this.protocol = { framing: "WebSocket", subprotocol: connection.options.subprotocol };
    this.stdin = options.stdin ? connection.writer(CHANNEL.stdin, "client") : undefined;
    this.stdout = options.stdout ? connection.reader(CHANNEL.stdout) : undefined;
    this.stderr = options.stderr && !options.tty ? connection.reader(CHANNEL.stderr) : undefined;
    this.status = this.#readStatus(connection.reader(CHANNEL.error));
    // Whoever closes the session is not interested.
    this.status.catch(() => {});
  }

  /** The error channel is whole when the server has closed the connection, which it does after all output. */
  async #readStatus(errors: ByteQueue): Promise<Status> {
    const { subprotocol } = this.protocol;
    const pieces: Uint8Array[] = [];
    let byteCount = 0;
    try {
      for await (const piece of errors) {
        byteCount += piece.length;
        if (byteCount > MAX_STATUS_BYTES) throw new StreamError("the error channel carries more than a Status");
        pieces.push(piece);
      }
    } catch (error) {
      // Some servers end the connection without a close once they have said how the command ended.
      if (byteCount === 0 || byteCount > MAX_STATUS_BYTES) throw error;
    }
    const text = Buffer.concat(pieces).toString();
    const status = parseErrorStream(text, hasStatus(subprotocol));
    if (status !== undefined) return status;
    if (text === "") throw new StreamError("the connection ended without a status");
    throw new StreamError(`the error channel carries no Status: ${text.slice(0, 200)}`);
  }

  async resize(size: TerminalSize): Promise<void> {
    if (this.options.tty) await this.connection.send(CHANNEL.resize, Buffer.from(terminalSizeText(size)));
  }

  async close(): Promise<void> {
    this.connection.discardAll();
    await this.connection.socket.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
