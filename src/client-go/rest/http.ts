import type { Agent as HttpAgent, IncomingMessage } from "node:http";
import { Agent, type AgentOptions, request as httpsRequest, type RequestOptions } from "node:https";
import type { TLSSocket } from "node:tls";
import { LabError } from "../../util/errors.js";
import type { TlsServer, TlsSessions } from "../../util/tls-sessions.js";
import type { AskingHeaders, RestConfig } from "./client.js";
import { tlsOf } from "./tls.js";

/** One exchange, ready to be sent. */
export interface HttpExchange {
  readonly method: string;
  /** path and query below the server's own path */
  readonly path: string;
  readonly headers: AskingHeaders;
  readonly body: Buffer | undefined;
  /** its answer has no end: it gets a connection of its own */
  readonly isWatch?: boolean;
}

/**
 * So many requests are under way at once, and the others wait for their turn: to connect once more takes longer than a
 * request. Watches do not count. client-go has all of them on one connection, as streams of HTTP/2.
 */
const MAX_CONNECTIONS = 32;

/**
 * Connections to one server with one identity, kept open between requests.
 *
 * The server's certificate is verified during the handshake, before the first byte of a request: a server that fails
 * never sees a token. (With TLS 1.3 the client certificate, too, goes out only after the server's was verified.)
 */
export class HttpTransport {
  readonly #agent: HttpAgent;
  readonly #watchAgent: HttpAgent;
  readonly #options: RequestOptions;
  readonly #basePath: string;
  /** `https://host:port` */
  readonly origin: string;

  /** @throws LabError USAGE for a server address that is no https URL, BAD_FILE for a key or certificate that is none */
  constructor(config: RestConfig) {
    const url = parseServer(config.server);
    this.origin = url.origin;
    this.#basePath = url.pathname.replace(/\/+$/, "");
    const tls = tlsOf(config);
    const { proxyAgent } = config;
    this.#agent = proxyAgent ?? new KeepingAgent(tls, { keepAlive: true, maxSockets: MAX_CONNECTIONS });
    this.#watchAgent = proxyAgent ?? new KeepingAgent(tls, { keepAlive: true });
    this.#options = {
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port === "" ? 443 : Number(url.port),
    };
  }

  /**
   * Sends one request and resolves with the answer's head; its body is read by the caller.
   * @throws what Node says, or the signal's reason
   */
  async send(exchange: HttpExchange, signal: AbortSignal): Promise<IncomingMessage> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#send(exchange, signal);
      } catch (error) {
        if (!(error instanceof StaleConnection)) throw error;
        // The server closed an idle connection in the moment it was used again: a GET may safely be sent once more.
        if (exchange.method !== "GET" || attempt === MAX_STALE_RETRIES) throw error.cause;
      }
    }
  }

  #send(exchange: HttpExchange, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const { method, headers } = exchange;
      const agent = exchange.isWatch === true ? this.#watchAgent : this.#agent;
      const request = httpsRequest({ ...this.#options, agent, method, path: this.#basePath + exchange.path, headers });
      // Until the answer has ended: an abort also cuts off a body (a watch) that is still coming.
      const onAbort = () => request.destroy(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      request.once("close", () => signal.removeEventListener("abort", onAbort));
      request.once("response", resolve);
      request.on("error", (error) => {
        const stale = request.reusedSocket && (error as { code?: unknown }).code === "ECONNRESET";
        reject(stale ? new StaleConnection("stale", { cause: error }) : error);
      });
      request.end(exchange.body);
    });
  }

  /** The proxy's agent stays: other transports with the same config use it. */
  close(): void {
    for (const agent of [this.#agent, this.#watchAgent]) if (agent instanceof KeepingAgent) agent.destroy();
  }
}

/** Keeps connections; a watch's resumes the TLS session that a request's has begun, and the other way round. */
class KeepingAgent extends Agent {
  constructor(
    readonly tls: TlsSessions,
    options: AgentOptions,
  ) {
    super(options);
  }

  override createConnection(server: TlsServer): TLSSocket {
    return this.tls.connect(server);
  }
}

/** A kept connection that turned out to be closed. */
class StaleConnection extends Error {}

const MAX_STALE_RETRIES = 3;

function parseServer(server: string): URL {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url?.protocol === "https:") return url;
  throw new LabError(
    "USAGE",
    url?.protocol === "http:"
      ? `the server ${server} would be spoken to without TLS`
      : `"${server}" is not the address of an API server`,
    "Write it as https://HOST:PORT.",
  );
}
