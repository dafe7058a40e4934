import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { request as httpsRequest } from "node:https";
import { answerTo, type BackendAnswer, BackendUnreachable, headText } from "../../staging/server/proxy/backend.js";
import { answerHeaders, streamHeaders } from "../../staging/server/proxy/forward-headers.js";
import { goConnectError } from "../../staging/server/proxy/go-errors.js";
import { joinSockets } from "../../staging/streaming/join.js";
import { isUpgradeRequest } from "../../staging/streaming/stream-options.js";
import { separateRecords } from "../../staging/streaming/websocket/separate-records.js";
import { ChildAbort } from "../../util/async/abort.js";
import type { Clock } from "../../util/clock.js";
import { connectTcp } from "../../util/net/connect-tcp.js";
import { httpError } from "./answers.js";

/** A request whose connection is forwarded. */
export interface UpgradeExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** the bytes after the request's head */
  readonly head: Buffer;
}

/** The result of a proxied stream. */
export type ProxiedStream =
  | {
      readonly outcome: "ended";
      /** `SPDY/3.1`, `websocket` */
      readonly protocol: string;
      /** bytes */
      readonly toRuntime: number;
      readonly fromRuntime: number;
    }
  | { readonly outcome: "refused"; readonly status: number }
  | { readonly outcome: "failed"; readonly why: string };

/** Called once both sides have switched protocols. `subprotocol`: of the WebSocket or SPDY, as the runtime chose it. */
export type UpgradeObserver = (protocol: string, subprotocol: string) => void;

/**
 * Forwards a request unchanged to the runtime's streaming server, then every byte in both directions. When one side
 * ends, the other is ended too.
 *
 * Mirrors proxyStream in pkg/kubelet/server/server.go and k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go
 * (UpgradeAwareHandler.ServeHTTP, tryUpgrade) with UpgradeRequired: a request without an upgrade is answered with 500.
 *
 * @param signal aborts when the kubelet closes
 */
export async function proxyStream(
  exchange: UpgradeExchange,
  location: URL,
  onUpgrade: UpgradeObserver,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProxiedStream> {
  const { request, response } = exchange;
  const fail = (why: string, status = 500): ProxiedStream => {
    httpError(response, status, why);
    return { outcome: "failed", why };
  };
  if (!isUpgradeRequest(request.headers)) return fail("Upgrade request required");
  const client = request.socket;
  let answer: BackendAnswer;
  try {
    answer = await askRuntime(request, location, signal);
  } catch (error) {
    if (!(error instanceof BackendUnreachable)) throw error;
    return fail(`error dialing backend: ${error.message}`);
  }
  const message = answer.response;
  const { statusCode = 0, statusMessage = "", headers } = message;
  if (answer.type === "response") {
    if (statusCode < 400) {
      message.destroy();
      return fail(`invalid upgrade response: status code ${statusCode}`);
    }
    await relay(message, response);
    return { outcome: "refused", status: statusCode };
  }
  const protocol = headers.upgrade ?? "";
  onUpgrade(protocol, headers["sec-websocket-protocol"] ?? String(headers["x-stream-protocol-version"] ?? ""));
  response.detachSocket(client);
  if (protocol.toLowerCase() === "websocket") separateRecords(client);
  client.write(headText(statusCode, statusMessage, message.rawHeaders), "latin1");
  const heads = { client: exchange.head, server: answer.head };
  const { fromClient, toClient } = await joinSockets(client, answer.socket, heads, clock, signal);
  return { outcome: "ended", protocol, toRuntime: fromClient, fromRuntime: toClient };
}

/**
 * Waits until the client disconnects or the kubelet closes; after an upgrade the caller owns the connection.
 * @throws BackendUnreachable
 */
async function askRuntime(request: IncomingMessage, location: URL, signal: AbortSignal): Promise<BackendAnswer> {
  const isHttps = location.protocol === "https:";
  const host = location.hostname.replace(/^\[|\]$/g, "");
  const port = location.port === "" ? (isHttps ? 443 : 80) : Number(location.port);
  const headers = streamHeaders(request);
  // As Go's client writes a POST without a body; Node would send Transfer-Encoding: chunked.
  const hasLength = "Content-Length" in headers || "Transfer-Encoding" in headers;
  if (!hasLength && request.method === "POST") headers["Content-Length"] = "0";
  const sent = (isHttps ? httpsRequest : httpRequest)({
    host,
    port,
    method: request.method ?? "GET",
    path: location.pathname + location.search,
    headers,
    setHost: false,
    ...(isHttps ? { agent: false } : { createConnection: connectTcp }),
  });
  const client = request.socket;
  using waiting = new ChildAbort(signal);
  const leave = () => waiting.abort();
  client.once("close", leave);
  if (client.destroyed) leave();
  try {
    return await answerTo(sent, undefined, (error) => goConnectError(error, `${host}:${port}`), waiting.signal);
  } finally {
    client.off("close", leave);
  }
}

/** Forwards a refusal and closes the connection. */
async function relay(message: IncomingMessage, response: ServerResponse): Promise<void> {
  const headers = [...answerHeaders(message.rawHeaders), "Connection", "close"];
  response.sendDate = false;
  response.writeHead(message.statusCode ?? 500, headers);
  try {
    for await (const chunk of message) {
      if (!response.write(chunk))
        await new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
    }
  } catch {
    // The runtime broke the connection: the client gets the part that arrived.
  }
  response.end();
}
