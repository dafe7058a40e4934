import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../../../util/clock.js";
import { defined } from "../../../util/defined.js";
import type { Status } from "../../apimachinery/api/meta.js";
import type { ByteReader, ByteWriter } from "../bytes.js";
import type { FrameObserver } from "../frame-report.js";
import { DEFAULT_IDLE_TIMEOUT_MS } from "../idle.js";
import { ServedSession } from "../served-session.js";
import { acceptWebSocket } from "../websocket/accept.js";
import { ChannelConnection } from "../websocket/channels.js";
import { REMOTE_COMMAND_SUBPROTOCOLS } from "../websocket/subprotocols.js";
import type { NegotiatedProtocol, RemoteCommandOptions, RemoteCommandServerSession, TerminalSize } from "./session.js";
import { errorStreamText } from "./status-text.js";
import { terminalSizes } from "./terminal-size.js";
import { CHANNEL, channelName } from "./websocket-channels.js";

export interface AcceptWebSocketOptions {
  readonly options: RemoteCommandOptions;
  readonly clock: Clock;
  readonly observer?: FrameObserver;
  /** default four hours */
  readonly idleTimeoutMs?: number;
  /** default: those of kubelets and runtimes: all but v5 */
  readonly subprotocols?: readonly string[];
}

const NOTHING = new Uint8Array(0);

/**
 * Serves a remote command over a WebSocket: answers the handshake, and sends an empty message as a sign that it is
 * ready.
 *
 * Mirrors pkg/kubelet/cri/streaming/remotecommand/websocket.go (createWebSocketStreams).
 *
 * @throws StreamError if the handshake was refused; the client has its answer then
 */
export async function acceptWebSocketRemoteCommand(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  accept: AcceptWebSocketOptions,
): Promise<RemoteCommandServerSession> {
  const { subprotocols = REMOTE_COMMAND_SUBPROTOCOLS, options, clock, observer } = accept;
  const { ws, subprotocol } = await acceptWebSocket(request, socket, head, subprotocols);
  const deps = { clock, ...defined({ observer }) };
  const { idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = accept;
  const connection = new ChannelConnection(ws, deps, { subprotocol, nameOf: channelName, idleTimeoutMs, socket });
  const session = new WebSocketServerSession(connection, options);
  // The lowest channel that the server writes to: for clients before v4 its first message means that the command runs.
  const first = options.stdout ? CHANNEL.stdout : options.stderr ? CHANNEL.stderr : CHANNEL.error;
  void connection.send(first, NOTHING).catch(() => {
    // The client is gone; the session's signal reports it.
  });
  return session;
}

class WebSocketServerSession extends ServedSession implements RemoteCommandServerSession {
  readonly protocol: NegotiatedProtocol;
  readonly stdin: ByteReader | undefined;
  readonly stdout: ByteWriter | undefined;
  readonly stderr: ByteWriter | undefined;
  readonly resizes: AsyncIterable<TerminalSize>;

  constructor(
    readonly connection: ChannelConnection,
    readonly options: RemoteCommandOptions,
  ) {
    super(connection.over);
    this.protocol = { framing: "WebSocket", subprotocol: connection.options.subprotocol };
    this.stdin = options.stdin ? connection.reader(CHANNEL.stdin) : undefined;
    this.stdout = options.stdout ? connection.writer(CHANNEL.stdout, "server") : undefined;
    this.stderr = options.stderr && !options.tty ? connection.writer(CHANNEL.stderr, "server") : undefined;
    this.resizes = terminalSizes(options.tty ? connection.reader(CHANNEL.resize) : undefined);
  }

  async finish(status: Status): Promise<void> {
    if (this.isOver) return;
    this.endHere();
    const { connection } = this;
    connection.discardAll();
    const text = errorStreamText(status, this.protocol.subprotocol);
    try {
      if (text !== "") await connection.send(CHANNEL.error, Buffer.from(text));
    } catch {
      // The client is gone.
    }
    await connection.socket.close();
  }

  protected async disconnect(): Promise<void> {
    this.connection.discardAll();
    this.connection.socket.terminate("closed by this side");
    await this.connection.socket.closed;
  }
}
