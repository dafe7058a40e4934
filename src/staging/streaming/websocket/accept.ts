import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { StreamError } from "../bytes.js";
import { separateRecords } from "./separate-records.js";
import { chooseSubprotocol, isWebSocketRequest, offeredSubprotocols, UNNAMED } from "./subprotocols.js";

/** Mirrors DefaultMaxPayloadBytes of golang.org/x/net/websocket. */
const MAX_MESSAGE_BYTES = 32 << 20;
/** The owner of the socket times the close, with its own clock. */
const NO_CLOSE_TIMEOUT_MS = 2 ** 31 - 1;

export interface AcceptedWebSocket {
  readonly ws: WebSocket;
  /** "" if the client named none */
  readonly subprotocol: string;
  /** the underlying socket */
  readonly socket: Duplex;
}

export interface AcceptOptions {
  /** name the chosen subprotocol even if it is unnamed, as channels do; default true */
  readonly namesUnnamed?: boolean;
}

/**
 * Answers a WebSocket handshake with 101, or refuses it as upstream's library does.
 *
 * Mirrors golang.org/x/net/websocket/hybi.go (ReadHandshake) and server.go (newServerConn): without a common
 * subprotocol the answer is a 403 without a body, and kubectl falls back to SPDY.
 *
 * @throws StreamError if it was refused or the client is gone; the client has its answer then
 */
export function acceptWebSocket(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  supported: readonly string[],
  { namesUnnamed = true }: AcceptOptions = {},
): Promise<AcceptedWebSocket> {
  const problem = handshakeProblem(request);
  if (problem !== undefined) return Promise.reject(refuse(socket, ...problem));
  const offered = offeredSubprotocols(request);
  const subprotocol = chooseSubprotocol(offered, supported);
  if (subprotocol === undefined) {
    const why = `requested protocol(s) are not supported: [${offered.join(" ")}]; supports [${supported.join(" ")}]`;
    return Promise.reject(refuse(socket, 403, "", why));
  }
  separateRecords(socket);
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    closeTimeout: NO_CLOSE_TIMEOUT_MS,
  } as ConstructorParameters<typeof WebSocketServer>[0]);
  if (namesUnnamed || subprotocol !== UNNAMED) {
    server.on("headers", (headers) => headers.push(`Sec-WebSocket-Protocol: ${subprotocol}`));
  }
  return new Promise((resolve, reject) => {
    const gone = () => reject(new StreamError("the client disconnected before the handshake"));
    // Checked here, because the library reports no earlier end.
    if (socket.destroyed) return gone();
    socket.once("close", gone);
    server.handleUpgrade(withoutSubprotocol(request), socket, head, (ws) => {
      socket.off("close", gone);
      // Nothing is read before there is a listener.
      ws.pause();
      answerEmptyClose(ws);
      resolve({ ws, subprotocol, socket });
    });
  });
}

/** The frame receiver of the library's socket; not part of its types. */
interface WithReceiver {
  readonly _receiver: NodeJS.EventEmitter;
}

/** Upstream answers a close without a code with 1000, the library without a code. */
function answerEmptyClose(ws: WebSocket): void {
  const { _receiver: receiver } = ws as unknown as WithReceiver;
  receiver.prependListener("conclude", (code: number) => {
    if (code === 1005) ws.close(1000);
  });
}

/** The library accepts only tokens as subprotocols, and `SPDY/3.1+portforward.k8s.io` is not one. */
function withoutSubprotocol(request: IncomingMessage): IncomingMessage {
  const { "sec-websocket-protocol": _, ...headers } = request.headers;
  return Object.create(request, { headers: { value: headers } }) as IncomingMessage;
}

type Problem = readonly [code: number, text: string];

function handshakeProblem(request: IncomingMessage): Problem | undefined {
  if (request.method !== "GET") return [405, "bad method"];
  if (!isWebSocketRequest(request)) return [400, "not websocket protocol"];
  const key = request.headers["sec-websocket-key"];
  if (key === undefined || !/^[+/0-9A-Za-z]{22}==$/.test(key)) return [400, "mismatch challenge/response"];
  if (request.headers["sec-websocket-version"] !== "13") return [400, "missing or bad WebSocket Version"];
  return undefined;
}

function refuse(socket: Duplex, code: number, text: string, why = text): StreamError {
  const version = code === 400 && text.includes("Version") ? "Sec-WebSocket-Version: 13\r\n" : "";
  // Errors of a closing socket do not matter.
  socket.on("error", () => socket.destroy());
  // The rest of the input is read, because closing before would discard the answer.
  socket.resume();
  const head = `HTTP/1.1 ${code} ${STATUS_CODES[code]}\r\n${version}Connection: close\r\n\r\n`;
  socket.end(head + text, () => socket.destroy());
  return new StreamError(`the WebSocket handshake was refused with ${code}: ${why}`);
}
