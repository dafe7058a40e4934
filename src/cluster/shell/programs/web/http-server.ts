import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { SecureContext } from "node:tls";
import { acceptTls } from "../../net/serving-certificate.js";
import { duplexOf } from "../../process/duplex.js";
import type { Listener } from "../../process/ports.js";
import type { Self } from "../../process/process.js";

/**
 * Serves HTTP on connections of the pod's network with Node's own server; no socket of the machine is used.
 * @param respond an error that it throws ends the connection, and no other container
 * @param tls for HTTPS
 */
export function serveHttp(
  self: Self,
  respond: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void,
  tls?: SecureContext,
): { readonly listener: Listener; close(): void } {
  // Timeouts would use timers of the system clock.
  const options = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 };
  const server = createServer(options, async (request, response) => {
    try {
      await respond(request, response);
    } catch {
      response.destroy();
    }
  });
  const open = new Set<Duplex>();
  return {
    listener: (connection) => {
      const socket = duplexOf(connection, self.signal);
      open.add(socket);
      socket.once("close", () => open.delete(socket));
      server.emit("connection", tls === undefined ? socket : acceptTls(socket, tls));
    },
    close: () => {
      for (const socket of open) socket.destroy();
    },
  };
}
