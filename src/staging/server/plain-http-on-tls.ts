import type { Socket } from "node:net";
import type { Server, TLSSocket } from "node:tls";

const ANSWER = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/**
 * Answers clients that speak plain HTTP to a TLS port, as every Go server does; otherwise the connection would close
 * without a message.
 *
 * Mirrors Go's net/http server.go (conn.serve, tlsRecordHeaderLooksLikeHTTP). Differs: OPTIONS is not recognized,
 * because OpenSSL reports it as noise.
 */
export function answerPlainHttp(server: Server): void {
  // Runs before Node's own listener, which closes the connection.
  server.prependListener("tlsClientError", (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    if (error.code === "ERR_SSL_HTTP_REQUEST") tcpBelow(socket)?.end(ANSWER);
  });
}

/** TLS cannot carry the response any more, and the underlying connection has no public name. */
function tcpBelow(socket: TLSSocket): Socket | undefined {
  const { _parent: below } = socket as TLSSocket & { readonly _parent?: Socket };
  return below?.writable === true ? below : undefined;
}
