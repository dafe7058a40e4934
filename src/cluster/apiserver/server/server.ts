import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import { methodNotAllowed } from "../../../staging/apimachinery/errors.js";
import type { Http2Face } from "../../../staging/server/http2.js";
import {
  createServer,
  listen,
  MAX_HEADER_BYTES,
  openSockets,
  portOf,
  type ServerOptions,
  type ServingPair,
  upgradeResponse,
  useCertificate,
} from "../../../staging/server/serve.js";
import { hasBody } from "../endpoints/read-body.js";
import { handleRequest, type RequestHandlerDeps } from "./handler.js";

/** Where to listen without TLS. */
export interface PlainListenOptions {
  /** a loopback address, because every client there has all rights */
  readonly host: "127.0.0.1";
  readonly port: number;
  readonly timeouts?: Partial<Timeouts>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** PEM; the certificate is for `host` */
  readonly servingCertificatePem: string;
  readonly servingKeyPem: string;
  /** the CA that the server names to clients during the handshake */
  readonly clientCaPem: string;
  /** serves HTTP/2 to clients that choose it in the handshake */
  readonly http2?: boolean;
  readonly timeouts?: Partial<Timeouts>;
}

/** Wall-clock ms, as upstream's server has them. */
export interface Timeouts {
  /** for the TLS handshake, and for the headers of each request */
  readonly headersMs: number;
  /** for headers and body if the handler does not read the body; handlers that do use a shorter limit */
  readonly requestMs: number;
  readonly idleMs: number;
}

/** The API server's ReadHeaderTimeout and IdleTimeout. */
const TIMEOUTS: Timeouts = { headersMs: 32_000, requestMs: 90_000, idleMs: 90_000 };
/** Turns of the event loop in which responses can finish while the server closes. */
const CLOSING_ROUNDS = 100;

type OnRequest = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** The API server's listener. */
export class HttpsFace {
  #closed: Promise<void> | undefined;

  private constructor(
    readonly server: Server,
    readonly http2: Http2Face | undefined,
    readonly answering: ReadonlySet<ServerResponse>,
    /** connections after the handshake */
    readonly sockets: ReadonlySet<Socket>,
    /** the underlying TCP connections */
    readonly connections: ReadonlySet<Socket>,
  ) {}

  /** Listens with TLS. */
  static async listen(deps: RequestHandlerDeps, options: ListenOptions): Promise<HttpsFace> {
    const { servingCertificatePem: certificatePem, servingKeyPem: keyPem, clientCaPem, http2 = false } = options;
    const limited = limits(options.timeouts);
    const server = createServer({ tls: { pair: { certificatePem, keyPem }, clientCaPem, http2 }, ...limited });
    if (!http2) return HttpsFace.#listen(server, deps, options);
    const { Http2Face } = await import("../../../staging/server/http2.js");
    const offer = (onRequest: OnRequest) => new Http2Face(server as HttpsServer, limited, onRequest);
    return HttpsFace.#listen(server, deps, options, offer);
  }

  /** Listens without TLS and without authentication. */
  static listenPlain(deps: RequestHandlerDeps, options: PlainListenOptions): Promise<HttpsFace> {
    return HttpsFace.#listen(createServer({ tls: "none", ...limits(options.timeouts) }), deps, options);
  }

  static async #listen(
    server: Server,
    deps: RequestHandlerDeps,
    options: Pick<ListenOptions, "host" | "port">,
    offerHttp2?: (onRequest: OnRequest) => Http2Face,
  ): Promise<HttpsFace> {
    const answering = new Set<ServerResponse>();
    const sockets = openSockets(server, "secureConnection");
    // Clients that never finish the handshake occupy a connection too.
    const connections = openSockets(server, "connection");
    const onRequest: OnRequest = (request, response) => {
      answering.add(response);
      response.once("close", () => answering.delete(response));
      return handleRequest(deps, request, response);
    };
    server.on("request", (request, response) => void onRequest(request, response));
    const http2 = offerHttp2?.(onRequest);
    server.on("upgrade", (request, socket: Socket, head) => answerUpgrade(deps, request, socket, head));
    server.on("clientError", answerBrokenRequest);
    // The API server does not support CONNECT.
    server.on("connect", (_request, socket: Socket) => answerMethodNotAllowed(socket));
    await listen(server, options.host, options.port);
    return new HttpsFace(server, http2, answering, sockets, connections);
  }

  get port(): number {
    return portOf(this.server);
  }

  /** Serves with another certificate from now on, and ends all connections, so that every client sees it. */
  useCertificate(pair: ServingPair, clientCaPem: string): void {
    useCertificate(this.server, pair, clientCaPem);
    for (const connection of this.connections) connection.destroy();
  }

  /** Stops accepting connections, finishes responses in progress and closes the rest. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.http2?.close();
    await untilEmpty(this.answering);
    // TLS may still buffer written bytes, so the sockets end only after those are sent.
    for (const socket of this.sockets) socket.destroySoon();
    await untilEmpty(this.sockets);
    this.server.closeAllConnections();
    for (const connection of this.connections) connection.destroy();
    await ended;
  }
}

function limits(timeouts: Partial<Timeouts> | undefined): Omit<ServerOptions, "tls"> {
  return { ...TIMEOUTS, ...timeouts, maxHeaderBytes: MAX_HEADER_BYTES };
}

function answerUpgrade(deps: RequestHandlerDeps, request: IncomingMessage, socket: Socket, head: Buffer): void {
  // Readers and writers of the socket handle its errors.
  socket.on("error", () => socket.destroy());
  if (hasBody(request)) {
    socket.resume();
    socket.once("finish", () => socket.destroy());
    // Differs: Node stops parsing HTTP at the upgrade; known clients do not send both.
    endWith(socket, 400, "Bad Request", "text/plain; charset=utf-8", "400 Bad Request: an upgrade with a body");
    return;
  }
  void handleRequest(deps, request, upgradeResponse(request, socket), { socket, head });
}

async function untilEmpty(set: ReadonlySet<unknown>): Promise<void> {
  for (let round = 0; round < CLOSING_ROUNDS && set.size > 0; round++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The responses to requests that Node's parser refuses, by error code. Such requests never reach the handler. */
const REFUSALS: Readonly<Record<string, readonly [code: number, phrase: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout"],
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large"],
};

const REQUEST_LINE = /^[A-Z]+ \S+ HTTP\/1\.[01]\r\n/;

function answerBrokenRequest(error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
  } else if (error.code === "HPE_INVALID_METHOD" && REQUEST_LINE.test(String(error.rawPacket))) {
    // No path supports a method unknown to HTTP.
    answerMethodNotAllowed(socket);
  } else {
    const [code, phrase] = REFUSALS[error.code ?? ""] ?? [400, "Bad Request"];
    endWith(socket, code, phrase, "text/plain; charset=utf-8", `${code} ${phrase}`);
  }
}

function answerMethodNotAllowed(socket: Socket): void {
  // Node no longer listens.
  socket.on("error", () => socket.destroy());
  const body = `${JSON.stringify(methodNotAllowed().status)}\n`;
  endWith(socket, 405, "Method Not Allowed", "application/json", body);
}

function endWith(socket: Socket, code: number, phrase: string, contentType: string, body: string): void {
  const head = [
    `HTTP/1.1 ${code} ${phrase}`,
    "Cache-Control: no-cache, private",
    `Content-Type: ${contentType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
