import type { Duplex } from "node:stream";

type Written = (error?: Error | null) => void;

/**
 * Delays a socket's failed write until everything from the peer was read. A peer that closes without reading to the end
 * resets the connection. Node destroys a socket whose write fails, and its unread bytes would be lost, often the result
 * of a command.
 *
 * Go's sockets keep reading after a failed write: the error only concerns the writer.
 *
 * @param deaf called when the peer no longer accepts bytes: stop waiting for writes before reading
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
      // Closed without an end: this side stopped reading.
      socket.on("end", tell).on("close", tell);
      deaf();
    };
  const write = socket._write;
  socket._write = (chunk, encoding, written) => write.call(socket, chunk, encoding, held(written));
  // Streams without one have null here.
  const writeAll = socket._writev ?? undefined;
  if (writeAll !== undefined) socket._writev = (chunks, written) => writeAll.call(socket, chunks, held(written));
}
