import { createHash } from "node:crypto";
import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import type { WebSocket } from "ws";
import { type Random, SystemRandom } from "../../util/random.js";
import { StreamError } from "../bytes.js";
import { clientWebSocket } from "./client-socket.js";

export interface ConnectWebSocketOptions {
  /** in the order of preference */
  readonly subprotocols: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** for https */
  readonly tls?: Pick<ConnectionOptions, "ca" | "cert" | "key" | "servername" | "rejectUnauthorized">;
  /** for the handshake's key */
  readonly random?: Random;
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

const MAX_REFUSAL_BYTES = 64 * 1024;
/** RFC 6455 section 1.3 */
const ACCEPT_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/**
 * Opens a WebSocket.
 *
 * Differs: the handshake is ours, as the library takes only tokens for subprotocols, which kubectl's tunnel is none of.
 *
 * @param url http or https
 * @throws StreamError when the server cannot be reached, or answers with something that is no handshake; the signal's
 *   reason when that aborts first
 */
export function connectWebSocket(
  url: string,
  options: ConnectWebSocketOptions,
  signal: AbortSignal,
): Promise<ConnectedWebSocket | RefusedWebSocket> {
  signal.throwIfAborted();
  const key = Buffer.from((options.random ?? new SystemRandom()).bytes(16)).toString("base64");
  const request = send(url, options, key);
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(signal.reason);
      request.destroy();
    };
    const settled = () => signal.removeEventListener("abort", abort);
    signal.addEventListener("abort", abort, { once: true });
    request.on("error", (error) => {
      settled();
      reject(new StreamError(error.message, { cause: error }));
    });
    request.on("upgrade", (response, socket, head) => {
      settled();
      try {
        resolve(connected(response, socket, head, key, options.subprotocols));
      } catch (error) {
        socket.destroy();
        reject(error);
      }
    });
    request.on("response", (response) => {
      void readRefusal(response).then((refusal) => {
        settled();
        request.destroy();
        resolve(refusal);
      });
    });
    request.end();
  });
}

function send(url: string, { headers, tls, subprotocols }: ConnectWebSocketOptions, key: string): ClientRequest {
  const all = {
    ...headers,
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": key,
    ...(subprotocols.length === 0 ? {} : { "Sec-WebSocket-Protocol": subprotocols.join(", ") }),
  };
  // A connection of its own, which no pool may take back.
  const options = { headers: all, agent: false as const };
  return url.startsWith("https:") ? httpsRequest(url, { ...options, ...tls }) : httpRequest(url, options);
}

function connected(
  { headers }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  key: string,
  offered: readonly string[],
): ConnectedWebSocket {
  const wanted = createHash("sha1")
    .update(key + ACCEPT_GUID)
    .digest("base64");
  if (headers.upgrade?.toLowerCase() !== "websocket" || headers["sec-websocket-accept"] !== wanted) {
    throw new StreamError("the server switched protocols, but not to a WebSocket that was asked for");
  }
  const subprotocol = headers["sec-websocket-protocol"] ?? "";
  if (subprotocol !== "" && !offered.includes(subprotocol)) {
    throw new StreamError(`the server chose the subprotocol ${JSON.stringify(subprotocol)}, which was not offered`);
  }
  return { outcome: "connected", ws: clientWebSocket(socket, head), subprotocol };
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
