import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import { makeAuthority, makeLeaf } from "./https-server.js";

/** One request as the kubelet received it. */
export interface AskedKubelet {
  readonly method: string;
  /** path and query, as sent */
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  /** `CN=...,O=...` of the client certificate */
  readonly client: string;
}

export interface FakeKubeletOptions {
  /** answers plain requests; default: 404 */
  respond?(request: IncomingMessage, response: ServerResponse): void;
  /** answers upgrades; default: closes the connection */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> | void;
  /** sign its certificate by an unknown CA; default: true */
  readonly pair?: { readonly keyPem: string; readonly certificatePem: string };
}

/** An HTTPS server on loopback in place of a kubelet, which records its requests and clients. */
export class FakeKubelet implements AsyncDisposable {
  readonly asked: AskedKubelet[] = [];
  readonly sockets = new Set<Socket>();
  readonly #running = new Set<Promise<void>>();
  #close: () => Promise<void> = async () => {};
  port = 0;

  static async start(options: FakeKubeletOptions = {}): Promise<FakeKubelet> {
    const kubelet = new FakeKubelet();
    const { keyPem, certificatePem } = options.pair ?? (await makeLeaf(await makeAuthority()));
    const tls = { key: keyPem, cert: certificatePem, requestCert: true, rejectUnauthorized: false };
    const server = createServer(tls, (request, response) => {
      kubelet.#note(request);
      if (options.respond === undefined) response.writeHead(404).end("404 page not found\n");
      else options.respond(request, response);
    });
    server.on("upgrade", (request, socket: Duplex, head: Buffer) => {
      kubelet.#note(request);
      socket.on("error", () => socket.destroy());
      if (options.upgrade === undefined) return socket.destroy();
      const one = Promise.resolve(options.upgrade(request, socket, head)).finally(() => kubelet.#running.delete(one));
      kubelet.#running.add(one);
      return one;
    });
    server.on("secureConnection", (socket: Socket) => {
      kubelet.sockets.add(socket);
      socket.once("close", () => kubelet.sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    kubelet.port = (server.address() as AddressInfo).port;
    kubelet.#close = async () => {
      for (const socket of kubelet.sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await Promise.all(kubelet.#running);
    };
    return kubelet;
  }

  #note(request: IncomingMessage): void {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    const client = subject === undefined ? "" : `CN=${subject.CN},O=${subject.O}`;
    const { method = "", url = "", headers, rawHeaders } = request;
    this.asked.push({ method, url, headers, rawHeaders, client });
  }

  /** The status of this kubelet's node. */
  get nodeStatus(): Record<string, unknown> {
    return {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: this.port } },
    };
  }

  node(name: string): KubeObject {
    return { apiVersion: "v1", kind: "Node", metadata: { name }, status: this.nodeStatus };
  }

  close(): Promise<void> {
    return this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
