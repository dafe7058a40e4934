import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { ConnectionOptions } from "node:tls";
import { WebSocket } from "ws";
import { StreamError } from "../bytes.js";

export interface ConnectWebSocketOptions {
  /** in the order of preference */
  readonly subprotocols: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** for https */
  readonly tls?: Pick<ConnectionOptions, "ca" | "cert" | "key" | "servername" | "rejectUnauthorized">;
}

export interface ConnectedWebSocket {
  readonly outcome: "connected";
  readonly ws: WebSocket;
  readonly subprotocol: string;
}

/** The server answered, and does not want to. */
export interface RefusedWebSocket {
  readonly outcome: "refused";
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** its beginning, when it is long */
  readonly body: string;
}

const MAX_MESSAGE_BYTES = 32 << 20;
const MAX_REFUSAL_BYTES = 64 * 1024;
/** The close is timed by whoever owns the socket, by its clock. */
const NO_CLOSE_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * Opens a WebSocket.
 *
 * @param url http, https, ws or wss
 * @throws StreamError when the server cannot be reached, or answers with something that is no handshake; the signal's
 *   reason when that aborts first
 */
export function connectWebSocket(
  url: string,
  { subprotocols, headers = {}, tls = {} }: ConnectWebSocketOptions,
  signal: AbortSignal,
): Promise<ConnectedWebSocket | RefusedWebSocket> {
  signal.throwIfAborted();
  const ws = new WebSocket(url.replace(/^http/, "ws"), [...subprotocols], {
    ...tls,
    headers,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    closeTimeout: NO_CLOSE_TIMEOUT_MS,
  } as ConstructorParameters<typeof WebSocket>[2]);
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(signal.reason);
      ws.terminate();
    };
    const settled = () => signal.removeEventListener("abort", abort);
    signal.addEventListener("abort", abort, { once: true });
    // Stays: `terminate` before the connection is there is an error to the library.
    ws.on("error", (error) => {
      settled();
      reject(new StreamError(error.message, { cause: error }));
    });
    ws.once("open", () => {
      settled();
      // Nothing is read before somebody listens.
      ws.pause();
      resolve({ outcome: "connected", ws, subprotocol: ws.protocol });
    });
    ws.once("unexpected-response", (request, response) => {
      void readRefusal(response).then((refusal) => {
        settled();
        request.destroy();
        resolve(refusal);
      });
    });
  });
}

async function readRefusal(response: IncomingMessage): Promise<RefusedWebSocket> {
  const pieces: Buffer[] = [];
  let byteCount = 0;
  try {
    for await (const piece of response) {
      pieces.push(piece as Buffer);
      byteCount += (piece as Buffer).length;
      if (byteCount > MAX_REFUSAL_BYTES) break;
    }
  } catch {
    // Cut off: what came is what there is.
  }
  const body = Buffer.concat(pieces).toString();
  return { outcome: "refused", status: response.statusCode ?? 0, headers: response.headers, body };
}
