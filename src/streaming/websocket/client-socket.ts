import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import { readBeforeFailing } from "../last-words.js";

const MAX_MESSAGE_BYTES = 32 << 20;
/** Answers to pings that the other side does not take; what comes above it is not answered. */
const MAX_PENDING_PONGS = 64;
/** The close is timed by whoever owns the socket, by its clock. */
const NO_CLOSE_TIMEOUT_MS = 2 ** 31 - 1;

/** What the library's own client does once the handshake is through; not among its types. */
interface Unconnected {
  _isServer: boolean;
  setSocket(socket: Duplex, head: Buffer, options: object): void;
}

/** A mask of zeros changes nothing, and the library does not go through the bytes for it. */
function noMask(mask: Buffer): void {
  mask.fill(0);
}

/**
 * Masks are there against proxies on the way that take a client's bytes for requests (RFC 6455 section 10.3): nobody is on
 * the way inside of TLS or of this machine.
 */
function needsMask(socket: Duplex): boolean {
  const { encrypted, remoteAddress = "" } = socket as Partial<TLSSocket>;
  return encrypted !== true && !/^(::ffff:)?127\.|^::1$/.test(remoteAddress);
}

/**
 * The client's end of a WebSocket whose handshake is through. Paused: nothing is read before somebody listens.
 * Differs: frames are masked with zeros where no proxy can be, which is some ten times as fast.
 * @param head what arrived with the answer
 */
export function clientWebSocket(socket: Duplex, head: Buffer): WebSocket {
  const options = { autoPong: true, maxPendingAutoPongs: MAX_PENDING_PONGS, closeTimeout: NO_CLOSE_TIMEOUT_MS };
  const ws: WebSocket = Reflect.construct(WebSocket, [null, undefined, options]);
  const unconnected = ws as unknown as Unconnected;
  unconnected._isServer = false;
  readBeforeFailing(socket);
  unconnected.setSocket(socket, head, {
    allowSynchronousEvents: true,
    maxPayload: MAX_MESSAGE_BYTES,
    maxBufferedChunks: 256 * 1024,
    maxFragments: 16 * 1024,
    skipUTF8Validation: false,
    ...(needsMask(socket) ? {} : { generateMask: noMask }),
  });
  ws.pause();
  return ws;
}
