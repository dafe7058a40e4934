import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { AsyncQueue } from "../../../util/async/async-queue.js";
import type { Clock } from "../../../util/clock.js";
import type { FrameObserver } from "../frame-report.js";
import { DEFAULT_IDLE_TIMEOUT_MS } from "../idle.js";
import { ServedSession } from "../served-session.js";
import { acceptSpdy } from "../spdy/accept.js";
import { SpdyConnection } from "../spdy/connection.js";
import type { SpdyStream } from "../spdy/stream.js";
import type { ForwardedConnection, PortForwardServerSession } from "./session.js";
import { PORT_FORWARD_PROTOCOL, SPDY_PORT_FORWARD, serverConnection } from "./spdy-streams.js";

/** Mirrors k8s.io/apimachinery/pkg/util/remotecommand/constants.go (DefaultStreamCreationTimeout). */
const DEFAULT_CREATION_TIMEOUT_MS = 30_000;
/** The backlog of connections that were not taken yet. */
const MAX_WAITING = 1024;

export interface AcceptSpdyPortForward {
  readonly clock: Clock;
  readonly observer?: FrameObserver | undefined;
  /** default four hours */
  readonly idleTimeoutMs?: number | undefined;
  /** the time limit for the second stream of a pair; default 30 s */
  readonly creationTimeoutMs?: number | undefined;
}

/**
 * Serves a port-forward over SPDY: answers the upgrade.
 *
 * Mirrors pkg/kubelet/cri/streaming/portforward/httpstream.go (handleHTTPStreams).
 *
 * @throws StreamError if the upgrade was refused; the client has its answer then
 */
export async function acceptSpdyPortForward(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  accept: AcceptSpdyPortForward,
): Promise<PortForwardServerSession> {
  acceptSpdy(request, socket, [PORT_FORWARD_PROTOCOL]);
  return serveSpdyPortForward(socket, head, accept);
}

/** The same on a socket that already speaks SPDY: the far end of a tunnel of WebSocket messages. */
export function serveSpdyPortForward(
  socket: Duplex,
  head: Uint8Array,
  accept: AcceptSpdyPortForward,
): PortForwardServerSession {
  const { clock, observer, idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = accept;
  const connection = new SpdyConnection(socket, "server", { clock, observer }, { head, idleTimeoutMs });
  return new SpdyForwardSession(connection, clock, accept.creationTimeoutMs ?? DEFAULT_CREATION_TIMEOUT_MS);
}

interface HalfPair {
  data?: SpdyStream;
  error?: SpdyStream;
  readonly timer: AbortController;
}

/** Mirrors pkg/kubelet/cri/streaming/portforward/httpstream.go (httpStreamHandler). */
class SpdyForwardSession extends ServedSession implements PortForwardServerSession {
  readonly protocol = SPDY_PORT_FORWARD;
  readonly #complete = new AsyncQueue<ForwardedConnection>(MAX_WAITING);
  readonly #halves = new Map<string, HalfPair>();

  constructor(
    readonly connection: SpdyConnection,
    readonly clock: Clock,
    readonly creationTimeoutMs: number,
  ) {
    super(connection.over);
    void this.#run();
  }

  get connections(): AsyncIterable<ForwardedConnection> {
    return this.#complete;
  }

  protected disconnect(): Promise<void> {
    return this.connection.close();
  }

  async #run(): Promise<void> {
    for await (const stream of this.connection.streams) {
      const port = portOf(stream);
      const type = stream.headers["streamtype"];
      if (port === undefined || (type !== "error" && type !== "data")) stream.reset();
      else this.#add(stream, type, port);
    }
    this.#complete.close();
    for (const half of this.#halves.values()) half.timer.abort("done");
  }

  #add(stream: SpdyStream, type: "data" | "error", port: number): void {
    stream.accept();
    const requestId = requestIdOf(stream, type);
    const half = this.#halves.get(requestId) ?? this.#begin(requestId, stream);
    if (half[type] !== undefined) {
      stream.inbox.drop();
      const text = `error processing stream for request ${requestId}: ${type} stream already assigned`;
      half.error?.write(Buffer.from(text)).catch(() => {
        // The client is gone.
      });
      return;
    }
    half[type] = stream;
    if (half.data === undefined || half.error === undefined) return;
    half.timer.abort("done");
    this.#halves.delete(requestId);
    const forwarded = serverConnection({ data: half.data, error: half.error }, portOf(half.data) ?? port);
    if (!this.#complete.push(forwarded)) void forwarded.close();
  }

  #begin(requestId: string, first: SpdyStream): HalfPair {
    const half: HalfPair = { timer: new AbortController() };
    this.#halves.set(requestId, half);
    void first.closed.then(() => {
      // Reset before the other stream of the pair came.
      half.timer.abort("done");
      if (this.#halves.get(requestId) === half) this.#halves.delete(requestId);
    });
    this.clock.sleep(this.creationTimeoutMs, half.timer.signal).then(
      () => this.#giveUp(requestId, half),
      () => {
        // The pair is complete, or the connection is over.
      },
    );
    return half;
  }

  async #giveUp(requestId: string, half: HalfPair): Promise<void> {
    this.#halves.delete(requestId);
    half.data?.reset();
    half.error?.inbox.drop();
    try {
      await half.error?.write(Buffer.from(`(request=${requestId}) timed out waiting for streams`));
      await half.error?.end();
    } catch {
      // The client is gone.
    }
  }
}

/** @returns undefined without a valid port header. Mirrors httpStreamReceived. */
function portOf({ headers }: SpdyStream): number | undefined {
  const text = headers["port"] ?? "";
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

/** Clients of Kubernetes 1.0 send no ID: their data stream follows right after the error stream. */
function requestIdOf({ headers, id }: SpdyStream, type: "data" | "error"): string {
  const given = headers["requestid"] ?? "";
  return given !== "" ? given : String(type === "error" ? id : id - 2);
}
