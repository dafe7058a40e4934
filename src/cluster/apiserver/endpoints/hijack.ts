import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Exchange, Upgrade } from "./exchange.js";

/** The limit for bytes that a client sends before it has its response. */
const MAX_EARLY_BYTES = 64 * 1024;

/**
 * Reads from a client that waits for its upgrade, because only a read detects a disconnect. Early bytes are kept for the
 * new protocol.
 *
 * @param gone called when the client half-closes; the caller detects a closed connection itself
 * @returns stops reading and returns the bytes read so far
 */
export function watchWaiting({ socket, head }: Upgrade, gone: () => void): () => Buffer {
  const early: Buffer[] = [head];
  let byteCount = head.length;
  const keep = (bytes: Buffer) => {
    early.push(bytes);
    byteCount += bytes.length;
    if (byteCount > MAX_EARLY_BYTES) socket.pause();
  };
  socket.on("data", keep);
  socket.once("end", gone);
  return () => {
    socket.pause();
    socket.off("data", keep);
    socket.off("end", gone);
    return early.length === 1 ? head : Buffer.concat(early);
  };
}

/**
 * Detaches the connection from HTTP: from now on it carries raw bytes.
 * @param status of the response that the caller writes
 */
export function hijack({ response, began }: Exchange, { socket }: Upgrade, status = 101): Duplex {
  began(status);
  response.detachSocket(socket as Socket);
  return socket;
}
