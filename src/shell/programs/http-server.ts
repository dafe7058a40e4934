import { createServer, type RequestListener } from "node:http";
import type { Duplex } from "node:stream";
import { duplexOf } from "../process/duplex.js";
import type { Listener } from "../process/ports.js";
import type { Self } from "../process/process.js";

/** Serves HTTP on connections of the pod's network with Node's own server; no socket of the machine is used. */
export function serveHttp(self: Self, respond: RequestListener): { readonly listener: Listener; close(): void } {
  // Timeouts would use timers of the system clock.
  const server = createServer({ keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 }, respond);
  const open = new Set<Duplex>();
  return {
    listener: (connection) => {
      const socket = duplexOf(connection, self.signal);
      open.add(socket);
      socket.once("close", () => open.delete(socket));
      server.emit("connection", socket);
    },
    close: () => {
      for (const socket of open) socket.destroy();
    },
  };
}
