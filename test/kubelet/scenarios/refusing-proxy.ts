import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as httpsRequest, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { RestConfig } from "../../../src/staging/client-go/rest/client.js";
import { makeAuthority, makeLeaf, status } from "../../support/https-server.js";

/** `GET /api/v1/pods?watch=true`, as it is asked. */
export type Refuses = (request: string) => boolean;

/**
 * Stands between a kubelet and its API server, lends the kubelet's identity, and answers 403 to what it is told to refuse:
 * an authorizer that takes a right away, and gives it back.
 */
export class RefusingProxy {
  /** what was refused so far, oldest first */
  readonly refused: string[] = [];
  readonly #agent: Agent;
  readonly #waiting = new Set<() => void>();
  #refuses: Refuses = () => false;

  private constructor(
    readonly server: Server,
    readonly target: RestConfig,
    readonly caPem: string,
  ) {
    const { caPem: ca, clientCertificatePem: cert, clientKeyPem: key } = target;
    this.#agent = new Agent({ keepAlive: true, ca, cert, key });
    server.on("request", (request, response) => this.#answer(request, response));
  }

  static async open(target: RestConfig): Promise<RefusingProxy> {
    const ca = await makeAuthority();
    const { keyPem: key, certificatePem: cert } = await makeLeaf(ca);
    const proxy = new RefusingProxy(createServer({ key, cert }), target, ca.certificatePem);
    await new Promise<void>((resolve) => proxy.server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  /** How the kubelet finds it. */
  get config(): RestConfig {
    const server = `https://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return { ...this.target, server, caPem: this.caPem };
  }

  /** From now on, watches that are open included. */
  refuse(refuses: Refuses): void {
    this.#refuses = refuses;
    this.server.closeAllConnections();
  }

  allow(): void {
    this.#refuses = () => false;
  }

  /** Resolves once such a request has been refused. */
  async untilRefused(matches: RegExp): Promise<void> {
    while (!this.refused.some((one) => matches.test(one))) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const asked = `${request.method} ${request.url}`;
    if (this.#refuses(asked)) this.#refuse(asked, response);
    else this.#pass(request, response);
  }

  #refuse(asked: string, response: ServerResponse): void {
    this.refused.push(asked);
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    const body = status(403, "Forbidden", 'pods is forbidden: User "system:node:node-1" cannot do this any more');
    response.writeHead(403, { "Content-Type": "application/json" });
    response.end(JSON.stringify(body));
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    const { method = "GET", url = "/", headers } = request;
    const { hostname, port } = new URL(this.target.server);
    const onward = httpsRequest({ agent: this.#agent, hostname, port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on("error", () => response.destroy());
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.#agent.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
