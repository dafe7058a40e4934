import { request as httpRequest, type IncomingMessage, type RequestOptions, type ServerResponse } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import { joinSockets } from "../../streaming/join.js";
import type { Clock } from "../../util/clock.js";
import { connectTcp } from "../../util/connect-tcp.js";
import { httpError } from "./answers.js";
import { isUpgradeRequest } from "./stream-options.js";

/** A request whose connection is to be handed on. */
export interface UpgradeExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** what came behind the request's head */
  readonly head: Buffer;
}

/** How it went. */
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

/** Called once both sides have agreed. `subprotocol`: of a WebSocket or of SPDY, as the runtime chose it. */
export type UpgradeObserver = (protocol: string, subprotocol: string) => void;

/**
 * Sends a request on to the runtime's streaming server as it came, and then every byte in both directions, until one side
 * ends: then so does the other.
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
  const answer = await askRuntime(request, location, signal);
  if ("problem" in answer) return fail(answer.problem);
  const { message, upgraded } = answer;
  const status = message.statusCode ?? 0;
  if (upgraded === undefined) {
    if (status < 400) {
      message.destroy();
      return fail(`invalid upgrade response: status code ${status}`);
    }
    await relay(message, response);
    return { outcome: "refused", status };
  }
  const { headers } = message;
  const protocol = headers.upgrade ?? "";
  onUpgrade(protocol, headers["sec-websocket-protocol"] ?? String(headers["x-stream-protocol-version"] ?? ""));
  response.detachSocket(client);
  client.write(headOf(message));
  const heads = { client: exchange.head, server: upgraded.head };
  const { fromClient, toClient } = await joinSockets(client, upgraded.socket, heads, clock, signal);
  return { outcome: "ended", protocol, toRuntime: fromClient, fromRuntime: toClient };
}

interface RuntimeAnswer {
  readonly message: IncomingMessage;
  /** undefined: it did not change the protocol */
  readonly upgraded: { readonly socket: Duplex; readonly head: Buffer } | undefined;
}

/** Asks until the client is gone or the kubelet closes; once upgraded, the connection is whose it was given to. */
function askRuntime(
  request: IncomingMessage,
  location: URL,
  signal: AbortSignal,
): Promise<RuntimeAnswer | { readonly problem: string }> {
  const open = location.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    const options: RequestOptions = {
      host: location.hostname.replace(/^\[|\]$/g, ""),
      port: location.port === "" ? (location.protocol === "https:" ? 443 : 80) : Number(location.port),
      method: request.method ?? "GET",
      path: location.pathname + location.search,
      headers: forwardedHeaders(request),
      setHost: false,
      ...(location.protocol === "https:" ? { agent: false } : { createConnection: connectTcp }),
    };
    const client = request.socket;
    const sent = open(options);
    const cancel = () => sent.destroy(new Error("the client is gone"));
    const release = () => {
      client.off("close", cancel);
      signal.removeEventListener("abort", cancel);
    };
    client.once("close", cancel);
    signal.addEventListener("abort", cancel, { once: true });
    sent.once("close", release);
    sent.once("upgrade", (message, socket, head) => {
      release();
      resolve({ message, upgraded: { socket, head } });
    });
    sent.once("response", (message) => resolve({ message, upgraded: undefined }));
    // Also after an answer: a connection that breaks then ends the streams by itself.
    sent.on("error", (error) => resolve({ problem: `error dialing backend: ${dialProblem(error)}` }));
    if (signal.aborted || client.destroyed) cancel();
    else sent.end();
  });
}

/** In Go's words: `dial tcp 127.0.0.1:1: connect: connection refused`. */
function dialProblem(error: Error): string {
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  const words: Readonly<Record<string, string>> = {
    ECONNREFUSED: "connection refused",
    EHOSTUNREACH: "no route to host",
    ETIMEDOUT: "connection timed out",
  };
  const known = words[code ?? ""];
  if (known !== undefined) return `dial tcp ${address}:${port}: connect: ${known}`;
  return code === "ECONNRESET" ? "EOF" : error.message;
}

/**
 * The client's headers, with its address added. Names and values in turn.
 *
 * Mirrors AppendForwardedForHeader in k8s.io/apimachinery/pkg/util/net/http.go.
 */
function forwardedHeaders(request: IncomingMessage): string[] {
  const headers: string[] = [];
  const hops: string[] = [];
  let hasLength = false;
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const name = request.rawHeaders[i] ?? "";
    const value = request.rawHeaders[i + 1] ?? "";
    const lower = name.toLowerCase();
    if (lower === "x-forwarded-for") hops.push(value);
    else headers.push(name, value);
    if (lower === "content-length" || lower === "transfer-encoding") hasLength = true;
  }
  hops.push((request.socket.remoteAddress ?? "").replace(/^::ffff:/, ""));
  headers.push("X-Forwarded-For", hops.join(", "));
  // As Go's client writes a POST without a body; Node would announce chunks.
  if (!hasLength && request.method === "POST") headers.push("Content-Length", "0");
  return headers;
}

/** The head of an answer as it came. */
function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): Buffer {
  let head = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`;
  for (let i = 0; i < rawHeaders.length; i += 2) head += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`;
  return Buffer.from(`${head}\r\n`, "latin1");
}

/** Headers that belong to one connection. */
const HOP_HEADERS = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade"]);

/** Hands a refusal on, and closes. */
async function relay(message: IncomingMessage, response: ServerResponse): Promise<void> {
  const headers: string[] = [];
  for (let i = 0; i < message.rawHeaders.length; i += 2) {
    const name = message.rawHeaders[i] ?? "";
    if (!HOP_HEADERS.has(name.toLowerCase())) headers.push(name, message.rawHeaders[i + 1] ?? "");
  }
  headers.push("Connection", "close");
  response.sendDate = false;
  response.writeHead(message.statusCode ?? 500, headers);
  try {
    for await (const chunk of message) {
      if (!response.write(chunk))
        await new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
    }
  } catch {
    // The runtime broke off: what came of its answer is all there is.
  }
  response.end();
}
