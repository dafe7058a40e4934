import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Exchange, Upgrade } from "../exchange.js";

/** What a client may send before it has its answer. */
const MAX_EARLY_BYTES = 64 * 1024;

/**
 * Watches a client that waits for its upgrade: whether it is still there shows only to who reads. What it sends early is
 * kept for the protocol that it asks for.
 *
 * @param gone called when the client has said that it will send no more; that its connection closes is seen elsewhere
 * @returns what was read; nothing is read any more then
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

/** Takes the connection away from HTTP: from now on nothing but bytes goes over it. */
export function hijack({ response }: Exchange, { socket }: Upgrade): Duplex {
  response.detachSocket(socket as Socket);
  return socket;
}
