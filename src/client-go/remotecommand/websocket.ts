import type { Status } from "../../apimachinery/api/meta.js";
import type { ByteQueue } from "../../streaming/byte-queue.js";
import { type ByteReader, type ByteWriter, StreamError } from "../../streaming/bytes.js";
import type { FrameObserver } from "../../streaming/frame-report.js";
import type {
  NegotiatedProtocol,
  RemoteCommandClientSession,
  RemoteCommandOptions,
  TerminalSize,
} from "../../streaming/remote-command/session.js";
import { parseErrorStream } from "../../streaming/remote-command/status-text.js";
import { terminalSizeText } from "../../streaming/remote-command/terminal-size.js";
import { CHANNEL, channelName } from "../../streaming/remote-command/websocket-channels.js";
import { ChannelConnection } from "../../streaming/websocket/channels.js";
import type { ConnectedWebSocket } from "../../streaming/websocket/connect.js";
import { hasStatus } from "../../streaming/websocket/subprotocols.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";

export interface WebSocketRemoteCommandOptions {
  readonly options: RemoteCommandOptions;
  readonly clock: Clock;
  readonly observer?: FrameObserver | undefined;
}

/** Mirrors pingPeriod and pingReadDeadline in client-go/tools/remotecommand/websocket.go. */
const HEARTBEAT = { periodMs: 5_000, deadlineMs: 61_000 };
/** A closing client does not wait long for the server's answer. */
const CLOSE_ANSWER_MS = 1_000;
/** A Status has some hundred bytes, and with a runtime's message some thousand. */
const MAX_STATUS_BYTES = 1 << 20;

/**
 * The client's side of a remote command over a connected WebSocket (`connectWebSocket`).
 *
 * Mirrors client-go/tools/remotecommand/websocket.go (wsStreamExecutor) and v5.go.
 */
export function webSocketRemoteCommand(
  { ws, subprotocol }: ConnectedWebSocket,
  { options, clock, observer }: WebSocketRemoteCommandOptions,
): RemoteCommandClientSession {
  const deps = { clock, ...defined({ observer }) };
  const connection = new ChannelConnection(ws, deps, {
    subprotocol,
    nameOf: channelName,
    heartbeat: HEARTBEAT,
    closeAnswerMs: CLOSE_ANSWER_MS,
    // Waiting input is for a command that is over, or no longer wanted.
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
    // The result is no longer of interest after `close`.
    this.status.catch(() => {});
  }

  /** The error channel is complete when the server closes the connection, which it does after all output. */
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
      // Some servers end the connection without a close after the result of the command.
      if (byteCount === 0 || byteCount > MAX_STATUS_BYTES) throw error;
    }
    const text = Buffer.concat(pieces).toString();
    const status = parseErrorStream(text, hasStatus(subprotocol));
    if (status !== undefined) return status;
    if (text === "") throw new StreamError("the connection ended without a status");
    throw new StreamError(`the error channel does not carry a Status: ${text.slice(0, 200)}`);
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
