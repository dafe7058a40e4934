import type { Clock } from "../../../util/clock.js";
import { defined } from "../../../util/defined.js";
import type { Status } from "../../apimachinery/api/meta.js";
import type { ByteReader, ByteWriter } from "../../streaming/bytes.js";
import type { FrameObserver } from "../../streaming/frame-report.js";
import type {
  NegotiatedProtocol,
  RemoteCommandClientSession,
  RemoteCommandOptions,
  TerminalSize,
} from "../../streaming/remote-command/session.js";
import { terminalSizeText } from "../../streaming/remote-command/terminal-size.js";
import { CHANNEL, channelName } from "../../streaming/remote-command/websocket-channels.js";
import { ChannelConnection } from "../../streaming/websocket/channels.js";
import type { ConnectedWebSocket } from "../../streaming/websocket/connect.js";
import { readStatus } from "./read-status.js";

export interface WebSocketRemoteCommandOptions {
  readonly options: RemoteCommandOptions;
  readonly clock: Clock;
  readonly observer?: FrameObserver | undefined;
}

/** Mirrors pingPeriod and pingReadDeadline in client-go/tools/remotecommand/websocket.go. */
const HEARTBEAT = { periodMs: 5_000, deadlineMs: 61_000 };
/** A closing client does not wait long for the server's answer. */
const CLOSE_ANSWER_MS = 1_000;

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
    this.status = readStatus(connection.reader(CHANNEL.error), this.protocol.subprotocol);
    // The result is no longer of interest after `close`.
    this.status.catch(() => {});
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
