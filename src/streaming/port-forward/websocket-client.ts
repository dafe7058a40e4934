import type { Clock } from "../../util/clock.js";
import { type ByteReader, StreamError } from "../bytes.js";
import type { FrameObserver } from "../frame-report.js";
import { ChannelConnection } from "../websocket/channels.js";
import { type ConnectedWebSocket, type ConnectWebSocketOptions, connectWebSocket } from "../websocket/connect.js";
import { V4 } from "../websocket/subprotocols.js";
import type { ForwardedConnection, PortForwardClientSession } from "./session.js";
import {
  dataChannel,
  errorChannel,
  forwardChannelName,
  forwardedConnection,
  PORT_BYTES,
} from "./websocket-channels.js";

export interface WebSocketPortForwardOptions extends Omit<ConnectWebSocketOptions, "subprotocols"> {
  /** where a port is forwarded: API servers take `?ports=80`, kubelets `?port=80` */
  urlFor(port: number): string;
  readonly clock: Clock;
  readonly observer?: FrameObserver;
}

const CLOSE_ANSWER_MS = 1_000;
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * The client's side of port-forwards over WebSockets: each connection is a WebSocket of its own, as a channel of one
 * cannot be opened twice.
 *
 * Mirrors what clients that are not client-go do (`v4.channel.k8s.io`). Nothing is opened before `connect`.
 */
export function webSocketPortForward(options: WebSocketPortForwardOptions): PortForwardClientSession {
  const over = new AbortController();
  const open = new Set<ChannelConnection>();
  const close = async () => {
    over.abort(new StreamError("the port-forward is closed"));
    await Promise.all([...open].map(({ socket }) => socket.close()));
  };
  return {
    protocol: { framing: "WebSocket", subprotocol: V4 },
    closed: new Promise((resolve) => over.signal.addEventListener("abort", () => resolve(), { once: true })),
    async connect(port) {
      over.signal.throwIfAborted();
      const result = await connectWebSocket(options.urlFor(port), { ...options, subprotocols: [V4] }, over.signal);
      if (result.outcome === "refused") {
        throw new StreamError(
          `the server refused the WebSocket with ${result.status}: ${result.body.toString().slice(0, 200)}`,
        );
      }
      const connection = channelsFor(result, port, options);
      open.add(connection);
      connection.over.addEventListener("abort", () => open.delete(connection), { once: true });
      return connectionTo(connection, port);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function channelsFor(
  { ws, subprotocol }: ConnectedWebSocket,
  port: number,
  { clock, observer }: WebSocketPortForwardOptions,
): ChannelConnection {
  const deps = { clock, ...(observer === undefined ? {} : { observer }) };
  const nameOf = (channel: number) => forwardChannelName([port], channel);
  return new ChannelConnection(ws, deps, { subprotocol, nameOf, closeAnswerMs: CLOSE_ANSWER_MS });
}

function connectionTo(connection: ChannelConnection, port: number): ForwardedConnection {
  const raw = connection.reader(dataChannel(0));
  const failure = readFailure(withoutPort(connection.reader(errorChannel(0))));
  const close = async () => {
    connection.discardAll();
    await connection.socket.close();
  };
  return forwardedConnection(connection, {
    port,
    incoming: withoutPort(raw),
    outgoing: connection.writer(dataChannel(0), "client"),
    failure,
    fail: close,
    close,
  });
}

/** What follows the port, which says nothing that is not known. */
async function* withoutPort(reader: ByteReader): AsyncGenerator<Uint8Array> {
  let skip = PORT_BYTES;
  for await (const bytes of reader) {
    if (bytes.length > skip) yield bytes.subarray(skip);
    skip = Math.max(0, skip - bytes.length);
  }
}

async function readFailure(errors: ByteReader): Promise<string | undefined> {
  let text = "";
  try {
    for await (const bytes of errors) {
      text += Buffer.from(bytes).toString();
      if (text.length > MAX_ERROR_BYTES) break;
    }
  } catch {
    // The connection broke: what was said before counts.
  }
  return text === "" ? undefined : text;
}
