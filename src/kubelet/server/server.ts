import { setMaxListeners } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import {
  createServer,
  listen,
  MAX_HEADER_BYTES,
  openSockets,
  portOf,
  type ServingPair,
  upgradeResponse,
  useCertificate,
} from "../../staging/server/serve.js";
import { LabError, messageOf } from "../../util/errors.js";
import { listenProblem } from "../../util/net/listen-problem.js";
import type { HandlerDeps } from "./call.js";
import { RequestHandler } from "./handler.js";
import type { KubeletAuth } from "./kubelet-auth.js";
import { READ_ONLY_SURFACE, type ServerSurface } from "./routes.js";

/** --port: pkg/cluster/ports/ports.go (KubeletPort) */
export const KUBELET_PORT = 10_250;

export interface KubeletServerDeps extends HandlerDeps {
  /** undefined: every request is allowed; only for a server that no other process can reach */
  readonly auth?: KubeletAuth;
  /** default: everything */
  readonly surface?: ServerSurface;
}

export interface KubeletServerOptions {
  /** default 127.0.0.1 */
  readonly address?: string;
  /** default 10250; 0: a free one */
  readonly port?: number;
  /**
   * `http`: without TLS. `https` without a pair: connections fail until `useCertificate` sets one, as for a kubelet
   * that waits for its certificate.
   */
  readonly transport: "http" | { readonly pair?: ServingPair };
}

/** Mirrors the http.Server of ListenAndServeKubeletServer: IdleTimeout, MaxHeaderBytes. */
const LIMITS = { headersMs: 60_000, requestMs: 0, idleMs: 90_000, maxHeaderBytes: MAX_HEADER_BYTES };

/**
 * The kubelet's server: pods, logs, health, and the proxy to the runtime's streams.
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

  /** @throws LabError USAGE when it cannot listen at the address, BAD_FILE for an invalid pair */
  static async listen(deps: KubeletServerDeps, options: KubeletServerOptions): Promise<KubeletServer> {
    const { address = "127.0.0.1", port = KUBELET_PORT, transport } = options;
    const closing = new AbortController();
    // Each pending request listens to it.
    setMaxListeners(0, closing.signal);
    const handler = new RequestHandler(deps, closing.signal);
    const tls = transport === "http" ? "none" : transport;
    const server = withPair(() => createServer({ tls, ...LIMITS }));
    const sockets = openSockets(server, "connection", "secureConnection");
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      void handler.handle(request, response, Buffer.alloc(0));
    });
    server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on("error", () => socket.destroy());
      const response = upgradeResponse(request, socket);
      response.shouldKeepAlive = false;
      void handler.handle(request, response, head);
    });
    // Requests are not caused by the step that started the server.
    const field = deps.surface === READ_ONLY_SURFACE ? "readOnlyPort" : "port";
    await deps.trace.detached(() => listenAt(server, { address, port, field }));
    return new KubeletServer(server, address, transport === "http" ? "http" : "https", sockets, closing);
  }

  get port(): number {
    return portOf(this.server);
  }

  get url(): string {
    const host = this.address.includes(":") ? `[${this.address}]` : this.address;
    return `${this.scheme}://${host}:${this.port}`;
  }

  /** Uses this certificate for new connections. @throws LabError BAD_FILE */
  useCertificate(pair: ServingPair): void {
    withPair(() => useCertificate(this.server, pair));
  }

  /** Ends all connections, streams included. */
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

function badPair(cause: unknown): LabError {
  const why = messageOf(cause);
  return new LabError(
    "BAD_FILE",
    `the kubelet cannot serve with its certificate: ${why}`,
    "Remove the folder of its serving certificate; the kubelet then gets a new one.",
    { cause },
  );
}

const HINTS = {
  port: "Choose another port, or 0 for one that is free.",
  readOnlyPort: "Choose another readOnlyPort, or 0 for none.",
} as const;

/** @throws LabError USAGE */
async function listenAt(
  server: Server | HttpsServer,
  { address, port, field }: { readonly address: string; readonly port: number; readonly field: keyof typeof HINTS },
): Promise<void> {
  try {
    await listen(server, address, port);
  } catch (cause) {
    const name = field === "port" ? "the kubelet's server" : "the kubelet's read-only server";
    const message = `${name} cannot listen at ${address}:${port}: ${listenProblem(cause)}`;
    throw new LabError("USAGE", message, HINTS[field], { cause });
  }
}

/** @throws LabError BAD_FILE */
function withPair<T>(use: () => T): T {
  try {
    return use();
  } catch (cause) {
    throw badPair(cause);
  }
}
