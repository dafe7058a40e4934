import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { RpcError } from "../../../staging/cri/grpc/status.js";
import { StreamError } from "../../../staging/streaming/bytes.js";
import { currentScope, runInScope, type Scope } from "../../../trace/scope.js";
import type { Clock } from "../../../util/clock.js";
import { LabError } from "../../../util/errors.js";
import { listenProblem } from "../../../util/net/listen-problem.js";
import { RequestCache } from "./request-cache.js";

/** Serves a client that connected with a valid token. */
export type StreamHandler = (connection: StreamConnection) => Promise<void>;

/** An unanswered upgrade request. */
export interface StreamConnection {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  /** aborts when the server closes */
  readonly signal: AbortSignal;
}

/** The purpose of a URL: the first part of its path. */
export type StreamKind = "exec" | "attach" | "portforward";

interface Pending {
  readonly kind: StreamKind;
  readonly serve: StreamHandler;
  /** of the call that returned the URL */
  readonly scope: Scope | undefined;
}

export interface StreamingServerOptions {
  /** `127.0.0.1:PORT`, `[::1]:PORT`; 0: any free port */
  readonly address: string;
}

export interface StreamingServerDeps {
  readonly clock: Clock;
  /** reports unexpected errors while a client is served */
  readonly onError: (error: unknown) => void;
}

const PATH = /^\/(exec|attach|portforward)\/([^/?]+)(?:\?.*)?$/;

/**
 * The streaming server for exec, attach and port-forward, at the URLs that the calls return: plain HTTP on loopback, as
 * containerd's. It listens from the first such call on.
 *
 * Mirrors pkg/kubelet/cri/streaming/server.go (server, serveExec, buildURL), and go-restful's answers.
 */
export class StreamingServer {
  readonly #cache: RequestCache<Pending>;
  readonly #closing = new AbortController();
  readonly #sockets = new Set<Duplex>();
  readonly #serving = new Set<Promise<void>>();
  #listening: Promise<Listening> | undefined;
  #closed: Promise<void> | undefined;

  /** @throws LabError USAGE for an address that is not local */
  constructor(
    readonly deps: StreamingServerDeps,
    readonly options: StreamingServerOptions,
  ) {
    parseAddress(options.address);
    this.#cache = new RequestCache(deps.clock);
  }

  /**
   * @returns the URL, valid once and for a minute
   * @throws RpcError ResourceExhausted while too many wait, Unavailable while it closes; LabError USAGE if it cannot
   * listen
   */
  async urlFor(kind: StreamKind, serve: StreamHandler): Promise<string> {
    const closing = this.#closing.signal;
    if (closing.aborted) throw new RpcError("Unavailable", "the streaming server is closing");
    this.#listening ??= this.#listen();
    const { url } = await this.#listening.catch((error: unknown) => {
      // The port may be free next time.
      this.#listening = undefined;
      throw error;
    });
    return `${url}/${kind}/${this.#cache.insert({ kind, serve, scope: currentScope() })}`;
  }

  async #listen(): Promise<Listening> {
    const server = createServer((request, response) => this.#refuse(request, response));
    server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    return { server, url: await bind(server, this.options.address) };
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // Node no longer listens, and the session does not yet.
    socket.on("error", () => socket.destroy());
    const found = this.#find(request);
    if (typeof found !== "function") {
      socket.end(rawAnswer(found));
      return;
    }
    this.#serve(found, { request, socket, head, signal: this.#closing.signal });
  }

  /** Not an upgrade request: the session reports the missing headers, and writes them to the socket itself. */
  #refuse(request: IncomingMessage, response: ServerResponse): void {
    const found = this.#find(request);
    if (typeof found === "function") {
      const { socket } = request;
      this.#serve(found, { request, socket, head: Buffer.alloc(0), signal: this.#closing.signal });
      return;
    }
    response.writeHead(found.code, found.headers);
    response.end(found.text);
  }

  #serve(serve: StreamHandler, connection: StreamConnection): void {
    const serving = serve(connection)
      .catch((error: unknown) => {
        // A StreamError needs no report: the request was refused, or the client left before the session began.
        if (!(error instanceof StreamError)) this.deps.onError(error);
        connection.socket.destroy();
      })
      .finally(() => this.#serving.delete(serving));
    this.#serving.add(serving);
  }

  #find(request: IncomingMessage): StreamHandler | Answer {
    const match = PATH.exec(request.url ?? "");
    if (match === null) return answer(404, "404: Page Not Found");
    if (request.method !== "GET" && request.method !== "POST")
      return answer(405, "405: Method Not Allowed", { allow: "GET, POST" });
    const pending = this.#cache.consume(match[2] ?? "");
    if (pending !== undefined && pending.kind === match[1]) {
      return (connection) => runInScope(pending.scope, () => pending.serve(connection));
    }
    return answer(404, "404 page not found\n", { "x-content-type-options": "nosniff" });
  }

  /** Ends all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Closes all connections. Safe to call twice. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort(new StreamError("the streaming server is closing"));
    const listening = await this.#listening?.catch(() => undefined); // nothing was opened
    if (listening === undefined) return;
    const closed = new Promise<void>((resolve) => listening.server.close(() => resolve()));
    this.cut();
    await closed;
    await Promise.allSettled(this.#serving);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

interface Listening {
  readonly server: Server;
  /** `http://127.0.0.1:4003` */
  readonly url: string;
}

interface Answer {
  readonly code: 404 | 405;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly text: string;
}

function answer(code: 404 | 405, text: string, more: Readonly<Record<string, string>> = {}): Answer {
  const headers = { ...more, "content-type": "text/plain; charset=utf-8", "content-length": text.length };
  return { code, text, headers };
}

function rawAnswer({ code, headers, text }: Answer): string {
  const lines = Object.entries({ ...headers, connection: "close" }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${code} ${code === 404 ? "Not Found" : "Method Not Allowed"}\r\n${lines.join("")}\r\n${text}`;
}

function parseAddress(address: string): { readonly host: string; readonly port: number } {
  const match = /^(\[::1\]|localhost|127(?:\.\d{1,3}){3}):(\d{1,5})$/.exec(address);
  const port = Number(match?.[2]);
  if (match !== null && port <= 65_535) return { host: (match[1] ?? "").replace(/^\[|\]$/g, ""), port };
  throw new LabError(
    "USAGE",
    `"${address}" is not a loopback address; the streaming server has no authentication`,
    "Write it as 127.0.0.1:PORT, with 0 for a free port.",
  );
}

async function bind(server: Server, address: string): Promise<string> {
  const { host, port } = parseAddress(address);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const hint = "Name another port, or 0 for a free one.";
      reject(new LabError("USAGE", `cannot serve streams at ${address}: ${listenProblem(cause)}`, hint, { cause }));
    });
    server.listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${bound}`;
}
