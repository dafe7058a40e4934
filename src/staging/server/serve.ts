import { createServer as createHttpServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { SecureContextOptions } from "node:tls";
import { answerPlainHttp } from "./plain-http-on-tls.js";

/** A serving certificate and its key. */
export interface ServingPair {
  /** PEM, starting with the server's own certificate */
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface SecureServing {
  /** undefined: handshakes fail until `useCertificate` provides one */
  readonly pair?: ServingPair;
  /** the CAs that the server names to clients during the handshake */
  readonly clientCaPem?: string;
  /** offers HTTP/2 in the handshake; `Http2Face` then serves it */
  readonly http2?: boolean;
}

export interface ServerOptions {
  readonly tls: "none" | SecureServing;
  /** Wall-clock ms: for the TLS handshake, and for the headers of each request */
  readonly headersMs: number;
  /** for a request's headers and body; 0: no limit */
  readonly requestMs: number;
  readonly idleMs: number;
  readonly maxHeaderBytes: number;
}

const CHECK_INTERVAL_MS = 1000;

/**
 * The longest request line and headers. Mirrors DefaultMaxHeaderBytes of Go's net/http, with Go's slack (initialReadLimitSize). Longer
 * ones get a 431; Go has no separate limit for the URL, and no 414.
 */
export const MAX_HEADER_BYTES = 1024 * 1024 + 4096;

/**
 * An HTTP/1.1 server with Go's limits. Mirrors k8s.io/apiserver/pkg/server/secure_serving.go.
 *
 * TLS accepts any client certificate: each request is authenticated, and gets a 401 if the certificate is invalid. The
 * certificate is also known when a client resumes a session, because OpenSSL's tickets carry it.
 * @throws the TLS library's error for an invalid pair
 */
export function createServer({
  tls,
  headersMs,
  requestMs,
  idleMs,
  maxHeaderBytes,
}: ServerOptions): Server | HttpsServer {
  const options = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: idleMs,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, headersMs),
    maxHeaderSize: maxHeaderBytes,
    noDelay: true,
  };
  const server =
    tls === "none"
      ? createHttpServer(options)
      : createHttpsServer({
          ...options,
          ...secureContext(tls.pair),
          ...(tls.clientCaPem === undefined ? {} : { ca: tls.clientCaPem }),
          requestCert: true,
          rejectUnauthorized: false,
          ...(tls.http2 === true ? { ALPNProtocols: ["h2", "http/1.1"] } : {}),
          handshakeTimeout: headersMs,
        });
  if (tls !== "none") answerPlainHttp(server as HttpsServer);
  // Go limits headers by size only: Node 20 would drop headers after the 2,000th, newer versions refuse the request.
  server.maxHeadersCount = 0;
  return server;
}

/** New connections get this certificate. @throws the TLS library's error for an invalid pair */
export function useCertificate(server: Server | HttpsServer, pair: ServingPair, clientCaPem?: string): void {
  if (!("setSecureContext" in server)) return;
  server.setSecureContext({ ...secureContext(pair), ...(clientCaPem === undefined ? {} : { ca: clientCaPem }) });
}

function secureContext(pair: ServingPair | undefined): SecureContextOptions {
  return { minVersion: "TLSv1.2", ...(pair === undefined ? {} : { cert: pair.certificatePem, key: pair.keyPem }) };
}

/** Rejects with Node's error, such as EADDRINUSE. */
export function listen(server: Server | HttpsServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

export function portOf(server: Server | HttpsServer): number {
  return (server.address() as AddressInfo).port;
}

/** The open sockets that `event` reports: `connection` for TCP, `secureConnection` after the handshake. */
export function openSockets(
  server: Server | HttpsServer,
  ...events: readonly ("connection" | "secureConnection")[]
): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  for (const event of events) {
    server.on(event, (socket: Socket) => {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
    });
  }
  return open;
}

/**
 * The response to an upgrade request. Node passes the bare connection; until the upgrade is accepted this works like any
 * other response, and then ends the connection.
 */
export function upgradeResponse(request: IncomingMessage, socket: Socket): ServerResponse {
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  response.once("finish", () => socket.destroySoon());
  return response;
}
