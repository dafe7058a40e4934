import type { Socket } from "node:net";
import type { Server, TLSSocket } from "node:tls";

const ANSWER = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/**
 * Who speaks plain HTTP to a TLS port is told so, as by every server of Go's: otherwise the connection would end without a
 * word.
 *
 * Mirrors Go's net/http server.go (conn.serve, tlsRecordHeaderLooksLikeHTTP).
 * Differs: OPTIONS is not recognized, which OpenSSL does not know from noise.
 */
export function answerPlainHttp(server: Server): void {
  // First of all listeners: Node's own ends the connection.
  server.prependListener("tlsClientError", (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    if (error.code === "ERR_SSL_HTTP_REQUEST") tcpBelow(socket)?.end(ANSWER);
  });
}

/** TLS cannot carry the answer any more. The connection below it has no public name. */
function tcpBelow(socket: TLSSocket): Socket | undefined {
  const { _parent: below } = socket as TLSSocket & { readonly _parent?: Socket };
  return below?.writable === true ? below : undefined;
}
