import { createServer as createPlainServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { methodNotAllowed } from "../../apimachinery/errors.js";
import { answerPlainHttp } from "../../util/plain-http-on-tls.js";
import { handleRequest, type RequestHandlerDeps } from "./handler.js";

/** Where to listen without TLS. */
export interface PlainListenOptions {
  /** an address of this machine only: whoever comes there may do everything */
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
  /** clients are told that certificates of this CA are welcome */
  readonly clientCaPem: string;
  readonly timeouts?: Partial<Timeouts>;
}

/** Wall-clock ms, as upstream's server has them. */
export interface Timeouts {
  /** for the TLS handshake, and for each request's head */
  readonly headersMs: number;
  /** a request's head and body, where its handler does not read it: those that do have their own, shorter time */
  readonly requestMs: number;
  readonly idleMs: number;
}

/** Mirrors k8s.io/apiserver/pkg/server/secure_serving.go (ReadHeaderTimeout, IdleTimeout). */
const TIMEOUTS: Timeouts = { headersMs: 32_000, requestMs: 90_000, idleMs: 90_000 };
const CHECK_INTERVAL_MS = 1000;
/** Mirrors DefaultMaxHeaderBytes of Go's net/http, with the slack that it gives. */
const MAX_HEADER_BYTES = 1024 * 1024 + 4096;
/** Turns of the event loop that answers get to be finished in, once the server closes: they wait for no network. */
const CLOSING_ROUNDS = 100;

/** The API server's socket. */
export class HttpsFace {
  #closed: Promise<void> | undefined;

  private constructor(
    readonly server: Server,
    readonly answering: ReadonlySet<ServerResponse>,
    /** through the handshake */
    readonly sockets: ReadonlySet<Socket>,
    /** those of TCP below them */
    readonly connections: ReadonlySet<Socket>,
  ) {}

  /**
   * Listens. Any client certificate passes TLS: whether it is good is decided per request, and said with a 401. It is known
   * also when a client resumes a session: OpenSSL's tickets carry it.
   */
  static listen(deps: RequestHandlerDeps, options: ListenOptions): Promise<HttpsFace> {
    const timeouts = { ...TIMEOUTS, ...options.timeouts };
    const server = createServer({
      key: options.servingKeyPem,
      cert: options.servingCertificatePem,
      ca: options.clientCaPem,
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: "TLSv1.2",
      handshakeTimeout: timeouts.headersMs,
      ...httpOptions(timeouts),
    });
    answerPlainHttp(server);
    return HttpsFace.#listen(server, deps, options);
  }

  /** Listens without TLS, where nobody can show who they are. */
  static listenPlain(deps: RequestHandlerDeps, options: PlainListenOptions): Promise<HttpsFace> {
    const timeouts = { ...TIMEOUTS, ...options.timeouts };
    return HttpsFace.#listen(createPlainServer(httpOptions(timeouts)), deps, options);
  }

  static async #listen(
    server: Server,
    deps: RequestHandlerDeps,
    options: Pick<ListenOptions, "host" | "port">,
  ): Promise<HttpsFace> {
    const answering = new Set<ServerResponse>();
    const sockets = new Set<Socket>();
    const connections = new Set<Socket>();
    // Headers are limited by bytes, as Go does: Node 20 would forget those behind the 2,000th, newer ones refuse.
    server.maxHeadersCount = 0;
    server.on("request", (request, response) => {
      answering.add(response);
      response.once("close", () => answering.delete(response));
      void handleRequest(deps, request, response);
    });
    server.on("upgrade", (request, socket: Socket, head) => answerUpgrade(deps, request, socket, head));
    server.on("clientError", answerBrokenRequest);
    // A tunnel is nothing that an API server makes.
    server.on("connect", (_request, socket: Socket) => answerMethodNotAllowed(socket));
    server.on("secureConnection", (socket: Socket) => remember(sockets, socket));
    // Also who never gets through the handshake holds a connection.
    server.on("connection", (socket: Socket) => remember(connections, socket));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(options.port, options.host, () => {
        server.off("error", reject);
        resolve();
      });
    });
    return new HttpsFace(server, answering, sockets, connections);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Takes no new connections, lets answers that are being written end, closes the rest. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.server.close(() => resolve()));
    await untilEmpty(this.answering);
    // What was written is still on its way through TLS: the sockets end once it is out.
    for (const socket of this.sockets) socket.destroySoon();
    await untilEmpty(this.sockets);
    this.server.closeAllConnections();
    for (const connection of this.connections) connection.destroy();
    await ended;
  }
}

function httpOptions(timeouts: Timeouts) {
  return {
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.idleMs,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, timeouts.headersMs),
    maxHeaderSize: MAX_HEADER_BYTES,
    noDelay: true,
  };
}

/**
 * A request that wants to speak something else afterwards. Until what it asks for is known it is one like any other, with
 * an answer like any other, after which the connection ends.
 */
function answerUpgrade(deps: RequestHandlerDeps, request: IncomingMessage, socket: Socket, head: Buffer): void {
  // What breaks it shows to whoever writes or reads.
  socket.on("error", () => socket.destroy());
  if (hasBody(request)) {
    socket.resume();
    socket.once("finish", () => socket.destroy());
    // Differs: Node gives up reading HTTP here, and no client sends both.
    endWith(socket, 400, "Bad Request", "text/plain; charset=utf-8", "400 Bad Request: an upgrade with a body");
    return;
  }
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  response.once("finish", () => socket.destroySoon());
  void handleRequest(deps, request, response, { socket, head });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function remember(all: Set<Socket>, socket: Socket): void {
  all.add(socket);
  socket.once("close", () => all.delete(socket));
}

async function untilEmpty(set: ReadonlySet<unknown>): Promise<void> {
  for (let round = 0; round < CLOSING_ROUNDS && set.size > 0; round++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What is said to requests that Node's parser refuses, by its error code. Such requests never reach the handler. */
const REFUSALS: Readonly<Record<string, readonly [code: number, phrase: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout"],
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large"],
};

const REQUEST_LINE = /^[A-Z]+ \S+ HTTP\/1\.[01]\r\n/;

function answerBrokenRequest(error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
  } else if (error.code === "HPE_INVALID_METHOD" && REQUEST_LINE.test(String(error.rawPacket))) {
    // A method that HTTP does not know is one that no path takes.
    answerMethodNotAllowed(socket);
  } else {
    const [code, phrase] = REFUSALS[error.code ?? ""] ?? [400, "Bad Request"];
    endWith(socket, code, phrase, "text/plain; charset=utf-8", `${code} ${phrase}`);
  }
}

function answerMethodNotAllowed(socket: Socket): void {
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
