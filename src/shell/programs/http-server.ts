import { createServer, type RequestListener } from "node:http";
import { Duplex } from "node:stream";
import type { Connection, Listener } from "../process/ports.js";
import type { Self } from "../process/process.js";

/** Serves HTTP on connections of the pod's network with Node's own server; no socket of the machine is used. */
export function serveHttp(self: Self, respond: RequestListener): { readonly listener: Listener; close(): void } {
  // Timeouts would use timers of the system clock.
  const server = createServer({ keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 }, respond);
  const open = new Set<Duplex>();
  return {
    listener: (connection) => {
      const socket = duplexOf(self, connection);
      open.add(socket);
      socket.once("close", () => open.delete(socket));
      server.emit("connection", socket);
    },
    close: () => {
      for (const socket of open) socket.destroy();
    },
  };
}

function duplexOf(self: Self, { incoming, outgoing, peer }: Connection): Duplex {
  const gone = new AbortController();
  const signal = AbortSignal.any([self.signal, gone.signal]);
  const socket = new Duplex({
    read() {
      incoming.read(signal).then(
        (bytes) => socket.push(bytes ?? null),
        () => socket.destroy(),
      );
    },
    write(chunk: Buffer, _encoding, done) {
      Promise.resolve()
        .then(() => outgoing.write(chunk, signal))
        .then(() => done(), done);
    },
    final(done) {
      outgoing.release();
      done();
    },
    destroy(error, done) {
      gone.abort();
      incoming.release();
      if (!socket.writableFinished) outgoing.release();
      done(error);
    },
  });
  // Node's server reads the client's address from its socket.
  Object.assign(socket, { remoteAddress: peer });
  // A client that disconnects is not an error of the server.
  socket.on("error", () => {});
  return socket;
}
