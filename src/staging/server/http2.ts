import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { Http2Response } from "./http2-response.js";

/** Upstream's since 1.21; clients open another connection for more. */
const MAX_STREAMS = 250;
/** Holds the body of nearly every write. Mirrors resourceBody99Percentile. */
const WINDOW_BYTES = 256 * 1024;
/** Headers of one request; the size is limited as well. */
const MAX_HEADERS = 1_000;
/** MB that a connection can make the server hold before it refuses more streams. Differs: Go has no such limit. */
const MAX_SESSION_MB = 64;

export interface Http2Options {
  readonly idleMs: number;
  readonly maxHeaderBytes: number;
}

/** Requests that a connection begins before other connections have their turn. */
const BURST = 25;

/** Resolves when the handler is done. */
type OnRequest = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * Serves HTTP/2 to clients of an HTTPS server that choose it in the handshake (ALPN); the others stay with HTTP/1.1,
 * which upgrades need. A request and its response have the form that they have with HTTP/1.1.
 *
 * Floods of PING, SETTINGS and RST_STREAM end a connection with nghttp2's limits. Handlers of reset streams count until they are
 * done, as in Go; further requests wait.
 *
 * Mirrors k8s.io/apiserver/pkg/server/secure_serving.go (Serve).
 */
export class Http2Face {
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #server: Http2Server;

  /** @param https offers `h2` in its handshake */
  constructor(https: HttpsServer, { idleMs, maxHeaderBytes }: Http2Options, onRequest: OnRequest) {
    this.#server = createServer({
      maxHeaderListPairs: MAX_HEADERS,
      maxSessionMemory: MAX_SESSION_MB,
      settings: {
        maxConcurrentStreams: MAX_STREAMS,
        initialWindowSize: WINDOW_BYTES,
        maxFrameSize: WINDOW_BYTES,
        maxHeaderListSize: maxHeaderBytes,
        enablePush: false,
      },
    });
    this.#server.on("session", (session) => this.#accept(session, idleMs, onRequest));
    const http1 = https.listeners("secureConnection") as ((socket: TLSSocket) => void)[];
    https.removeAllListeners("secureConnection");
    https.on("secureConnection", (socket) => {
      if (socket.alpnProtocol === "h2") this.#server.emit("connection", socket);
      else for (const listener of http1) listener.call(https, socket);
    });
  }

  #accept(session: ServerHttp2Session, idleMs: number, onRequest: OnRequest): void {
    const handlers = new Handlers();
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
    // Its streams end with errors of their own.
    session.on("error", () => {});
    session.setLocalWindowSize(WINDOW_BYTES * MAX_STREAMS);
    let open = 0;
    session.setTimeout(idleMs, () => {
      if (open === 0) session.close();
    });
    const { socket } = session;
    const begin = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, rawHeaders: string[]) => {
      open++;
      stream.once("close", () => open--);
      stream.on("error", () => {});
      handlers.add(stream, () =>
        onRequest(requestOf(stream, socket, headers, rawHeaders), new Http2Response(stream) as never),
      );
    };
    session.on("stream", begin);
  }

  /** Sends GOAWAY: clients finish their streams and begin no new ones. */
  close(): void {
    for (const session of this.#sessions) session.close();
  }
}

/** The handlers of a connection. Mirrors golang.org/x/net/http2 (scheduleHandler, handlerDone). */
class Handlers {
  #running = 0;
  #begunInTurn = 0;
  readonly #waiting: { readonly stream: ServerHttp2Stream; readonly run: () => Promise<void> }[] = [];

  /** Runs it now or later, unless the stream is reset before. */
  add(stream: ServerHttp2Stream, run: () => Promise<void>): void {
    this.#waiting.push({ stream, run });
    this.#next();
  }

  #next(): void {
    while (this.#running < MAX_STREAMS && this.#begunInTurn < BURST) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (next.stream.destroyed || next.stream.closed) continue;
      if (this.#begunInTurn++ === 0) setImmediate(() => this.#newTurn());
      this.#running++;
      void next.run().finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }

  #newTurn(): void {
    this.#begunInTurn = 0;
    this.#next();
  }
}

/** The stream with the fields of an HTTP/1.1 request. */
function requestOf(
  stream: ServerHttp2Stream,
  socket: Socket,
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
): IncomingMessage {
  const { ":method": method, ":path": url, ":authority": authority } = headers;
  headers.host ??= authority;
  const { endAfterHeaders: hasNoBody } = stream;
  if (!hasNoBody && headers["content-length"] === undefined) headers["transfer-encoding"] = "chunked";
  const fields = { method, url, headers, rawHeaders: withoutPseudo(rawHeaders), socket, httpVersion: "2.0" };
  Object.defineProperty(stream, "complete", { get: () => hasNoBody || stream.readableEnded });
  // The body of a request without one is never read.
  if (hasNoBody) stream.resume();
  return Object.assign(stream, fields) as unknown as IncomingMessage;
}

/** Pseudo headers come first; HTTP/1.1 has them elsewhere. */
function withoutPseudo(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = rawHeaders.slice(i, i + 2);
    if (name === ":authority") kept.push("Host", value);
    else if (!name.startsWith(":")) kept.push(name, value);
  }
  return kept;
}
