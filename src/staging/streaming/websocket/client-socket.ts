import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import { readBeforeFailing } from "../last-words.js";

const MAX_MESSAGE_BYTES = 32 << 20;
/** Limit for unsent answers to pings; above it pings are not answered. */
const MAX_PENDING_PONGS = 64;
/** The owner of the socket times the close, with its own clock. */
const NO_CLOSE_TIMEOUT_MS = 2 ** 31 - 1;

/** What the library's own client does after the handshake; not part of its types. */
interface Unconnected {
  _isServer: boolean;
  setSocket(socket: Duplex, head: Buffer, options: object): void;
}

/** A mask of zeros changes nothing, and the library skips the masking. */
function noMask(mask: Buffer): void {
  mask.fill(0);
}

/**
 * Masks protect against proxies that mistake a client's bytes for requests (RFC 6455 section 10.3); there are none
 * inside TLS or on this machine.
 */
function needsMask(socket: Duplex): boolean {
  const { encrypted, remoteAddress = "" } = socket as Partial<TLSSocket>;
  return encrypted !== true && !/^(::ffff:)?127\.|^::1$/.test(remoteAddress);
}

/**
 * The client's end of a WebSocket after the handshake. Paused until there is a listener. Differs: frames are masked
 * with zeros where no proxy is possible, which is about ten times as fast.
 * @param head bytes that were received with the answer
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
