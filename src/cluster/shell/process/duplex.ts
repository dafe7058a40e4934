import { Duplex } from "node:stream";
import type { Connection } from "./ports.js";

/**
 * One side of a connection as a Node stream, for Node's HTTP and TLS. Destroying it closes the connection.
 * @param signal of the process that holds it
 */
export function duplexOf({ incoming, outgoing, peer, local }: Connection, signal: AbortSignal): Duplex {
  const gone = new AbortController();
  const either = AbortSignal.any([signal, gone.signal]);
  const stream = new Duplex({
    read() {
      incoming.read(either).then(
        (bytes) => stream.push(bytes ?? null),
        () => stream.destroy(),
      );
    },
    write(chunk: Buffer, _encoding, done) {
      Promise.resolve()
        .then(() => outgoing.write(chunk, either))
        .then(() => done(), done);
    },
    final(done) {
      outgoing.release();
      done();
    },
    destroy(error, done) {
      gone.abort();
      incoming.release();
      if (!stream.writableFinished) outgoing.release();
      done(error);
    },
  });
  // Node's servers read the client's address from its socket.
  Object.assign(stream, { remoteAddress: peer.ip, remotePort: peer.port, localPort: local?.port });
  // A side that disconnects is not an error of the other one.
  stream.on("error", () => {});
  return stream;
}
