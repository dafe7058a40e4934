import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { internalError } from "../../../staging/apimachinery/errors.js";
import type { BackendAnswer } from "../../../staging/server/proxy/backend.js";
import { BackendUnreachable, headText } from "../../../staging/server/proxy/backend.js";
import { answerHeaders, upgradeHeaders } from "../../../staging/server/proxy/forward-headers.js";
import { joinSockets } from "../../../staging/streaming/join.js";
import { separateRecords } from "../../../staging/streaming/websocket/separate-records.js";
import type { Exchange, Upgrade } from "../endpoints/exchange.js";
import { hijack, watchWaiting } from "../endpoints/hijack.js";
import type { ProxyDeps } from "./deps.js";
import type { KubeletInfo } from "./kubelet-connection.js";
import { askKubelet, type KubeletRequest } from "./kubelet-request.js";
import { requireUpgrade } from "./offered.js";
import { joinedText, reportAnswered, reportAsked, reportEnded } from "./report.js";

export interface UpgradeTarget {
  readonly info: KubeletInfo;
  /** path and query at the kubelet, or at the pod */
  readonly path: string;
  /** set when the request goes through the kubelet to a pod */
  readonly pod?: PodWay;
}

/** A connection to a pod through its kubelet. */
export interface PodWay {
  /** `http://10.244.0.9:80` */
  readonly url: string;
  /** @throws BackendUnreachable */
  ask(request: KubeletRequest, signal: AbortSignal): Promise<BackendAnswer>;
}

/** @throws BackendUnreachable */
export function askTarget(
  { connections }: ProxyDeps,
  { info, pod }: UpgradeTarget,
  request: KubeletRequest,
  signal: AbortSignal,
): Promise<BackendAnswer> {
  return pod === undefined ? askKubelet(connections, info, request, signal) : pod.ask(request, signal);
}

/**
 * Forwards an upgrade to a kubelet, returns its response, and joins the two connections byte for byte.
 *
 * Mirrors k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go (tryUpgrade): a refusal is returned unchanged, so that
 * kubectl can try its next protocol.
 *
 * @throws StatusError 400 without an upgrade, 500 when the kubelet cannot be reached or answers with neither
 */
export async function proxyUpgrade(
  deps: ProxyDeps,
  exchange: Exchange,
  target: UpgradeTarget,
  signal: AbortSignal,
): Promise<void> {
  const upgrade = requireUpgrade(exchange);
  const { method } = exchange;
  const headers = upgradeHeaders(exchange.request);
  const { answer, head } = await ask(deps, exchange, target, { method, path: target.path, headers }, signal);
  if (answer.type === "response") return passRefusal(deps, exchange, upgrade, answer.response);
  const client = hijack(exchange, upgrade);
  const { response, socket } = answer;
  if (response.headers.upgrade?.toLowerCase() === "websocket") separateRecords(client);
  client.write(headText(101, "Switching Protocols", response.rawHeaders));
  await join(deps, exchange, { client, head }, answer, agreedText(response), signal);
  socket.destroy();
}

/**
 * @param signal the exchange's
 * @returns the kubelet's response, and the bytes that the client sent meanwhile
 * @throws StatusError 500
 */
export async function ask(
  deps: ProxyDeps,
  exchange: Exchange,
  target: UpgradeTarget,
  request: KubeletRequest,
  signal: AbortSignal,
): Promise<{ readonly answer: BackendAnswer; readonly head: Buffer }> {
  const cause = reportAsked(deps.trace, exchange, target.info, request.method, request.path, target.pod?.url);
  const release = watchWaiting(requireUpgrade(exchange), () => exchange.clientLeft());
  try {
    const answer = await deps.trace.because(cause, () => askTarget(deps, target, request, signal));
    return { answer, head: release() };
  } catch (error) {
    release();
    if (!(error instanceof BackendUnreachable)) throw error;
    const message = `error dialing backend: ${error.message}`;
    reportAnswered(deps.trace, exchange, "answer 500 Internal Server Error", message);
    throw internalError(message);
  }
}

export async function join(
  deps: ProxyDeps,
  exchange: Exchange,
  { client, head }: { readonly client: Duplex; readonly head: Buffer },
  answer: BackendAnswer & { readonly type: "upgrade" },
  agreed: string,
  signal: AbortSignal,
): Promise<void> {
  reportAnswered(deps.trace, exchange, "answer 101 Switching Protocols", agreed);
  const heads = { client: head, server: answer.head };
  const joined = await joinSockets(client, answer.socket, heads, deps.clock, signal);
  reportEnded(deps.trace, exchange, joinedText(joined));
}

/**
 * Returns the kubelet's response with its whole body, and ends the connection.
 * @throws StatusError 500 for a response that is neither an upgrade nor a refusal
 */
export async function passRefusal(
  { trace }: ProxyDeps,
  exchange: Exchange,
  upgrade: Upgrade,
  response: IncomingMessage,
): Promise<void> {
  const { statusCode = 0, statusMessage = "" } = response;
  if (statusCode < 400) {
    response.destroy();
    throw internalError(`invalid upgrade response: status code ${statusCode}`);
  }
  reportAnswered(trace, exchange, `answer ${statusCode} ${statusMessage}`, "the kubelet refuses the upgrade");
  const headers = answerHeaders(response.rawHeaders);
  // Without a Content-Length, only the end of the connection ends the body.
  if (response.headers["content-length"] === undefined) headers.push("Connection", "close");
  exchange.response.statusCode = statusCode;
  const client = hijack(exchange, upgrade, statusCode);
  client.write(headText(statusCode, statusMessage, headers));
  // Keeps reading from the client, because closing with unread data would truncate the response.
  client.resume();
  try {
    for await (const bytes of response) client.write(bytes);
  } catch {
    // The kubelet broke off; the client sees a truncated response, too.
  }
  client.end(() => client.destroy());
}

export function agreedText({ headers }: IncomingMessage): string {
  const version = headers["x-stream-protocol-version"] ?? headers["sec-websocket-protocol"] ?? "no subprotocol";
  return `${headers.upgrade ?? "?"}, ${String(version) === "" ? "no subprotocol" : version}`;
}
