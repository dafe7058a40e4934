import type { Agent as HttpAgent, IncomingMessage } from "node:http";
import { Agent, type AgentOptions, request as httpsRequest, type RequestOptions } from "node:https";
import type { TLSSocket } from "node:tls";
import { onAbort } from "../../../util/async/abort.js";
import { LabError } from "../../../util/errors.js";
import type { TlsServer, TlsSessions } from "../../../util/net/tls-sessions.js";
import { withoutEnding } from "../../../util/text/linear-text.js";
import type { AskingHeaders, RestConfig } from "./client.js";
import { tlsOf } from "./tls.js";

/** One request, ready to be sent. */
export interface HttpExchange {
  readonly method: string;
  /** path and query below the server's own path */
  readonly path: string;
  readonly headers: AskingHeaders;
  readonly body: Buffer | undefined;
  /** true for a response without an end, which gets a connection of its own */
  readonly isWatch?: boolean;
}

/**
 * Further requests wait, because opening another connection takes longer than a request. Watches are not counted.
 * client-go sends all of them over one HTTP/2 connection.
 */
const MAX_CONNECTIONS = 32;

/**
 * Connections to one server with one identity, kept open between requests.
 *
 * The handshake verifies the server's certificate before the first byte of a request, so an untrusted server never sees a
 * token. With TLS 1.3 it does not see the client certificate either.
 */
export class HttpTransport {
  readonly #agent: HttpAgent;
  readonly #watchAgent: HttpAgent;
  readonly #options: RequestOptions;
  readonly #basePath: string;
  /** `https://host:port` */
  readonly origin: string;
  /** `host:port` */
  readonly host: string;

  /** @throws LabError USAGE for a server address that is not an https URL, BAD_FILE for an unreadable key or certificate */
  constructor(config: RestConfig) {
    const url = parseServer(config.server);
    this.origin = url.origin;
    this.host = url.host;
    this.#basePath = withoutEnding(url.pathname, "/");
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
   * Sends one request and resolves with the response's head; the caller reads its body.
   * @throws Node's error, or the signal's reason
   */
  async send(exchange: HttpExchange, signal: AbortSignal): Promise<IncomingMessage> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#send(exchange, signal);
      } catch (error) {
        if (!(error instanceof StaleConnection)) throw error;
        // The server closed an idle connection just as it was used again: a GET may safely be repeated.
        if (exchange.method !== "GET" || attempt === MAX_STALE_RETRIES) throw error.cause;
      }
    }
  }

  #send(exchange: HttpExchange, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const { method, headers } = exchange;
      const agent = exchange.isWatch === true ? this.#watchAgent : this.#agent;
      const request = httpsRequest({
        ...this.#options,
        agent,
        method,
        path: escaped(this.#basePath + exchange.path),
        headers,
      });
      // Stays registered until the response has ended, because an abort also ends a body that is still arriving, such as a watch.
      const link = onAbort(signal, () => request.destroy(signal.reason));
      request.once("close", () => link[Symbol.dispose]());
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

/** A path with the characters escaped that no request line can have, such as a space in a name that a user wrote. */
function escaped(path: string): string {
  return path.replace(/[^\x21-\x7e]+/g, (part) =>
    [...Buffer.from(part)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}

/** Keeps connections open. The agents for requests and watches share their TLS sessions. */
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

/** The server had already closed the reused connection. */
class StaleConnection extends Error {}

const MAX_STALE_RETRIES = 3;

function parseServer(server: string): URL {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url?.protocol === "https:") return url;
  throw new LabError(
    "USAGE",
    url?.protocol === "http:" ? `the address ${server} has no TLS` : `"${server}" is not the address of an API server`,
    "Write it as https://HOST:PORT.",
  );
}
