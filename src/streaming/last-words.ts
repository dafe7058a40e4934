import type { Duplex } from "node:stream";

type Written = (error?: Error | null) => void;

/**
 * Lets a socket's failing write wait until all that the peer had said is read: then the socket fails by it, or has ended
 * meanwhile. A peer that closes without reading to the end resets the connection; Node destroys a socket whose write fails,
 * and what it had not read of it, often how a command ended, would be lost.
 *
 * Go's sockets read on after a failed write by themselves: a write's error is its caller's alone.
 *
 * @param deaf called when the peer takes nothing any more: nobody should wait for this socket's writes before reading it
 */
export function readBeforeFailing(socket: Duplex, deaf: () => void = () => {}): void {
  const held =
    (written: Written): Written =>
    (error) => {
      if (!error || socket.readableEnded || socket.destroyed) return written(error);
      const tell = () => {
        socket.off("end", tell).off("close", tell);
        written(error);
      };
      // Closed without an end: this side has had enough.
      socket.on("end", tell).on("close", tell);
      deaf();
    };
  const write = socket._write;
  socket._write = (chunk, encoding, written) => write.call(socket, chunk, encoding, held(written));
  // Streams without one have null there.
  const writeAll = socket._writev ?? undefined;
  if (writeAll !== undefined) socket._writev = (chunks, written) => writeAll.call(socket, chunks, held(written));
}
