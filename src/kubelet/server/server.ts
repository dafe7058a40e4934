import { setMaxListeners } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { SecureContextOptions } from "node:tls";
import { LabError, messageOf } from "../../util/errors.js";
import { answerPlainHttp } from "../../util/plain-http-on-tls.js";
import type { HandlerDeps } from "./call.js";
import { RequestHandler } from "./handler.js";
import type { KubeletAuth } from "./kubelet-auth.js";

/** --port: pkg/cluster/ports/ports.go (KubeletPort) */
export const KUBELET_PORT = 10_250;

export interface ServingPair {
  /** PEM, the server's own certificate first */
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface KubeletServerDeps extends HandlerDeps {
  /** undefined: everybody may do everything; only for a server that nobody else can reach */
  readonly auth?: KubeletAuth;
}

export interface KubeletServerOptions {
  /** default 127.0.0.1 */
  readonly address?: string;
  /** default 10250; 0: one that is free */
  readonly port?: number;
  /**
   * `http`: without TLS. `https` without a pair: connections fail until `useCertificate` brings one, as a kubelet's do that
   * still waits for its certificate.
   */
  readonly transport: "http" | { readonly pair?: ServingPair };
}

/** Mirrors the http.Server of ListenAndServeKubeletServer: IdleTimeout, MaxHeaderBytes. */
const IDLE_TIMEOUT_MS = 90_000;
const MAX_HEADER_BYTES = 1024 * 1024;
const HEADERS_TIMEOUT_MS = 60_000;

/**
 * The kubelet's server: pods, logs, health, and the way to the runtime's streams.
 *
 * Mirrors pkg/kubelet/server/server.go (ListenAndServeKubeletServer, NewServer).
 * Differs: HTTP/1.1 only.
 */
export class KubeletServer implements AsyncDisposable {
  readonly #closing: AbortController;
  #closed: Promise<void> | undefined;

  private constructor(
    readonly server: Server | HttpsServer,
    readonly address: string,
    readonly scheme: "http" | "https",
    readonly sockets: ReadonlySet<Socket>,
    closing: AbortController,
  ) {
    this.#closing = closing;
  }

  /** @throws LabError USAGE when the address cannot be listened at, BAD_FILE for a pair that is none */
  static async listen(deps: KubeletServerDeps, options: KubeletServerOptions): Promise<KubeletServer> {
    const { address = "127.0.0.1", port = KUBELET_PORT, transport } = options;
    const closing = new AbortController();
    // Each request under way listens to it.
    setMaxListeners(0, closing.signal);
    const handler = new RequestHandler(deps, closing.signal);
    const server = createServer(transport);
    const sockets = new Set<Socket>();
    // Headers are limited by bytes, as Go does: Node 20 would forget those behind the 2,000th, newer ones refuse.
    server.maxHeadersCount = 0;
    server.on("connection", (socket: Socket) => remember(sockets, socket));
    server.on("secureConnection", (socket: Socket) => remember(sockets, socket));
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      void handler.handle(request, response, Buffer.alloc(0));
    });
    server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      // Node hands the bare connection over: what is no stream still gets an ordinary answer.
      socket.on("error", () => socket.destroy());
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket);
      response.once("finish", () => {
        response.detachSocket(socket);
        socket.destroySoon();
      });
      void handler.handle(request, response, head);
    });
    // Nothing that a request begins belongs to the step that started the server.
    await deps.trace.detached(() => listen(server, address, port));
    return new KubeletServer(server, address, transport === "http" ? "http" : "https", sockets, closing);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    const host = this.address.includes(":") ? `[${this.address}]` : this.address;
    return `${this.scheme}://${host}:${this.port}`;
  }

  /** From now on new connections see this certificate. @throws LabError BAD_FILE */
  useCertificate(pair: ServingPair): void {
    if (!("setSecureContext" in this.server)) return;
    try {
      this.server.setSecureContext(secureContext(pair));
    } catch (cause) {
      throw badPair(cause);
    }
  }

  /** Ends all connections, streams too. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.#closing.abort();
    for (const socket of this.sockets) socket.destroy();
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function createServer(transport: KubeletServerOptions["transport"]): Server | HttpsServer {
  const options = {
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
    noDelay: true,
  };
  if (transport === "http") return createHttpServer(options);
  const { pair } = transport;
  try {
    const server = createHttpsServer({
      ...options,
      ...secureContext(pair),
      // Any certificate passes TLS: whose it is, and whether it counts, is decided per request, and said with a 401.
      // It is known also when the API server resumes a session: OpenSSL's tickets carry it.
      requestCert: true,
      rejectUnauthorized: false,
    });
    answerPlainHttp(server);
    return server;
  } catch (cause) {
    throw badPair(cause);
  }
}

function secureContext(pair: ServingPair | undefined): SecureContextOptions {
  return {
    minVersion: "TLSv1.2",
    ...(pair === undefined ? {} : { cert: pair.certificatePem, key: pair.keyPem }),
  };
}

function badPair(cause: unknown): LabError {
  const why = messageOf(cause);
  return new LabError(
    "BAD_FILE",
    `the kubelet cannot serve with its certificate: ${why}`,
    "Remove the folder of its serving certificate: it gets a new one.",
    { cause },
  );
}

function remember(all: Set<Socket>, socket: Socket): void {
  all.add(socket);
  socket.once("close", () => all.delete(socket));
}

function listen(server: Server | HttpsServer, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "the port is taken" : cause.message;
      reject(
        new LabError(
          "USAGE",
          `the kubelet's server cannot listen at ${address}:${port}: ${why}`,
          "Choose another port, or 0 for one that is free.",
          { cause },
        ),
      );
    });
    server.listen(port, address, () => {
      server.removeAllListeners("error");
      resolve();
    });
  });
}
