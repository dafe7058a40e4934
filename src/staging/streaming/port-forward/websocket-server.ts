import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { untilAborted } from "../../../util/async/concurrency.js";
import type { Clock } from "../../../util/clock.js";
import { defined } from "../../../util/defined.js";
import type { Timer } from "../../../util/timer.js";
import type { FrameObserver } from "../frame-report.js";
import { DEFAULT_IDLE_TIMEOUT_MS } from "../idle.js";
import { ServedSession } from "../served-session.js";
import { acceptWebSocket } from "../websocket/accept.js";
import { ChannelConnection } from "../websocket/channels.js";
import { PORT_FORWARD_SUBPROTOCOLS } from "../websocket/subprotocols.js";
import type { ForwardedConnection, PortForwardServerSession } from "./session.js";

export interface AcceptWebSocketPortForward {
  /** one connection is opened to each at once; at most 127 */
  readonly ports: readonly number[];
  readonly clock: Clock;
  readonly observer?: FrameObserver;
  /** default four hours */
  readonly idleTimeoutMs?: number;
}

/** A channel number is one byte, and each port needs two. */
const MAX_PORTS = 127;
/** The time in which a client's bytes still reach a pod that has ended its direction. containerd waits as long. */
const LINGER_MS = 1_000;

/**
 * Serves a port-forward over a WebSocket: a data channel and an error channel per port, which both start with the port
 * number. It closes a second after the pod has ended its last connection, because no message announces that end.
 *
 * Mirrors pkg/kubelet/cri/streaming/portforward/websocket.go (handleWebSocketStreams, websocketStreamHandler).
 *
 * @throws StreamError if the handshake was refused; the client has its answer then
 */
export async function acceptWebSocketPortForward(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  { ports, clock, observer, idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS }: AcceptWebSocketPortForward,
): Promise<PortForwardServerSession> {
  const { ws, subprotocol } = await acceptWebSocket(request, socket, head, PORT_FORWARD_SUBPROTOCOLS);
  const served = ports.slice(0, MAX_PORTS);
  const nameOf = (channel: number) => forwardChannelName(served, channel);
  const deps = { clock, ...defined({ observer }) };
  return new WebSocketForwardSession(
    new ChannelConnection(ws, deps, { subprotocol, nameOf, idleTimeoutMs, socket }),
    served,
  );
}

class WebSocketForwardSession extends ServedSession implements PortForwardServerSession {
  readonly protocol: PortForwardServerSession["protocol"];
  readonly #connections: readonly ForwardedConnection[];
  #openCount: number;

  constructor(
    readonly connection: ChannelConnection,
    ports: readonly number[],
  ) {
    super(connection.over);
    this.protocol = { framing: "WebSocket", subprotocol: connection.options.subprotocol };
    this.#connections = ports.map((port, index) => this.#open(port, index));
    this.#openCount = ports.length;
  }

  get connections(): AsyncIterable<ForwardedConnection> {
    const { over } = this.connection;
    const all = this.#connections;
    return (async function* () {
      yield* all;
      await untilAborted(over);
    })();
  }

  #open(port: number, index: number): ForwardedConnection {
    const { connection } = this;
    const incoming = connection.reader(dataChannel(index));
    const outgoing = connection.writer(dataChannel(index), "server");
    const errors = connection.writer(errorChannel(index), "server");
    const begin = portBytes(port);
    // The client may be gone already.
    void outgoing.write(begin).catch(() => {});
    void errors.write(begin).catch(() => {});
    let isOpen = true;
    let linger: Timer | undefined;
    const close = async () => {
      if (!isOpen) return;
      isOpen = false;
      linger?.stop();
      incoming.discard();
      incoming.end();
      await this.#closedOne();
    };
    return {
      port,
      incoming,
      write: (bytes) => outgoing.write(bytes),
      // A single direction cannot be closed, so the client does not know of this end.
      end: async () => {
        if (isOpen && !connection.over.aborted) linger ??= connection.deps.clock.timer(LINGER_MS, () => void close());
      },
      failure: Promise.resolve(undefined),
      fail: async (message) => {
        if (isOpen) await errors.write(Buffer.from(message));
        await close();
      },
      close,
    };
  }

  /** The WebSocket closes with its last port. */
  async #closedOne(): Promise<void> {
    this.#openCount--;
    if (this.#openCount > 0) return;
    this.endHere();
    await this.connection.socket.close();
  }

  protected async disconnect(): Promise<void> {
    this.connection.discardAll();
    this.connection.socket.terminate("closed by this side");
    await this.connection.socket.closed;
  }
}

/** The data channel of the port at this index. */
function dataChannel(index: number): number {
  return 2 * index;
}

/** The error channel of the port at this index. */
function errorChannel(index: number): number {
  return 2 * index + 1;
}

/** For traces: `data 80`, `error 80`. */
function forwardChannelName(ports: readonly number[], channel: number): string | undefined {
  const port = ports[channel >> 1];
  return port === undefined ? undefined : `${channel % 2 === 0 ? "data" : "error"} ${port}`;
}

/** The first message on both channels of a port: the port as two bytes, little endian, as upstream writes it. */
function portBytes(port: number): Uint8Array {
  return Uint8Array.of(port & 0xff, port >> 8);
}
