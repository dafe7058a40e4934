import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import type { RestConfig } from "../../src/staging/client-go/rest/client.js";

/** One exchange, as the proxy passed it on. */
export interface SeenRequest {
  readonly method: string;
  /** path and query, as sent */
  readonly path: string;
  /** undefined until the answer begins */
  status?: number;
}

/** A proxy between a plain HTTP client and an API server. Adds its own identity, and records the exchanges. */
export class LoggingProxy {
  #seen: SeenRequest[] = [];
  readonly #listeners = new Set<() => void>();

  private constructor(
    readonly server: Server,
    readonly agent: Agent,
  ) {}

  static async listen(target: RestConfig): Promise<LoggingProxy> {
    const { caPem: ca, clientCertificatePem: cert, clientKeyPem: key } = target;
    const agent = new Agent({ keepAlive: true, ca, cert, key });
    const server = createServer((request, response) => proxy.#pass(target.server, request, response));
    const proxy = new LoggingProxy(server, agent);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The exchanges since the last call. */
  take(): SeenRequest[] {
    const seen = this.#seen;
    this.#seen = [];
    return seen;
  }

  /** Resolves when the answer to a request begins that `matches`. */
  answered(matches: (seen: SeenRequest) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!this.#seen.some((one) => one.status !== undefined && matches(one))) return;
        this.#listeners.delete(look);
        resolve();
      };
      this.#listeners.add(look);
      look();
    });
  }

  #pass(server: string, request: IncomingMessage, response: ServerResponse): void {
    const seen: SeenRequest = { method: request.method ?? "", path: request.url ?? "" };
    this.#seen.push(seen);
    const { host: _, ...headers } = request.headers;
    const onward = httpsRequest(new URL(seen.path, server), { method: seen.method, headers, agent: this.agent });
    onward.on("response", (answer) => {
      seen.status = answer.statusCode ?? 0;
      response.writeHead(seen.status, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      for (const listener of [...this.#listeners]) listener();
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.agent.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
