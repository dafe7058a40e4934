import { createHash } from "node:crypto";
import type { WebSocket } from "ws";
import { defined } from "../../../util/defined.js";
import { type Random, SystemRandom } from "../../../util/random.js";
import { StreamError } from "../bytes.js";
import { type DialOptions, dialUpgrade, type RefusedUpgrade, type UpgradedSocket } from "../dial.js";
import { clientWebSocket } from "./client-socket.js";

export interface ConnectWebSocketOptions extends Pick<DialOptions, "headers" | "tls"> {
  /** in order of preference */
  readonly subprotocols: readonly string[];
  /** creates the handshake's key */
  readonly random?: Random;
}

export interface ConnectedWebSocket {
  readonly outcome: "connected";
  readonly ws: WebSocket;
  readonly subprotocol: string;
}

/** RFC 6455 section 1.3 */
const ACCEPT_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/**
 * Opens a WebSocket.
 *
 * Differs: the handshake is our own, because the library accepts only tokens as subprotocols, and kubectl's tunnel is
 * not one.
 *
 * @param url http or https
 * @returns the socket, or the server's refusal
 * @throws StreamError if the server cannot be reached, or its answer is not a handshake; the signal's reason if that
 * aborts first
 */
export async function connectWebSocket(
  url: string | URL,
  { subprotocols, headers = {}, tls, random = new SystemRandom() }: ConnectWebSocketOptions,
  signal: AbortSignal,
): Promise<ConnectedWebSocket | RefusedUpgrade> {
  const key = random.bytes(16).toString("base64");
  const offered: Record<string, string> =
    subprotocols.length === 0 ? {} : { "Sec-WebSocket-Protocol": subprotocols.join(", ") };
  const answer = await dialUpgrade(
    url,
    {
      method: "GET",
      protocol: "websocket",
      headers: { ...headers, "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key, ...offered },
      ...defined({ tls }),
    },
    signal,
  );
  if (answer.outcome === "refused") return answer;
  try {
    return connected(answer, key, subprotocols);
  } catch (error) {
    answer.socket.destroy();
    throw error;
  }
}

/** @throws StreamError */
function connected(
  { headers, socket, head }: UpgradedSocket,
  key: string,
  offered: readonly string[],
): ConnectedWebSocket {
  const wanted = createHash("sha1")
    .update(key + ACCEPT_GUID)
    .digest("base64");
  if (headers.upgrade?.toLowerCase() !== "websocket" || headers["sec-websocket-accept"] !== wanted) {
    throw new StreamError("the server switched protocols, but not to the requested WebSocket");
  }
  const subprotocol = headers["sec-websocket-protocol"] ?? "";
  if (subprotocol !== "" && !offered.includes(subprotocol)) {
    throw new StreamError(`the server chose the subprotocol ${JSON.stringify(subprotocol)}, which was not offered`);
  }
  return { outcome: "connected", ws: clientWebSocket(socket, head), subprotocol };
}
