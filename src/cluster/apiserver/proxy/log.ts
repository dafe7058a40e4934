import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream/promises";
import { internalError, invalid } from "../../../staging/apimachinery/errors.js";
import type { BackendAnswer } from "../../../staging/server/proxy/backend.js";
import { BackendUnreachable } from "../../../staging/server/proxy/backend.js";
import type { Connecter } from "../endpoints/connect.js";
import type { Exchange } from "../endpoints/exchange.js";
import { isTrue } from "../endpoints/request-info.js";
import { commonHeaders, writeBody } from "../endpoints/responsewriters/answer.js";
import { nodeNameOf, requireContainer, validateLogOptions } from "../registry/core/pods/streams.js";
import type { ProxyDeps } from "./deps.js";
import type { KubeletInfo } from "./kubelet-connection.js";
import { askKubelet } from "./kubelet-request.js";
import { logPath } from "./pod-locations.js";
import { responseError } from "./refusal.js";
import { reportAsked } from "./report.js";

/** The API server's user agent for requests of its own. */
const USER_AGENT = "Go-http-client/1.1";

/**
 * Streams a container's log from its kubelet to the client.
 *
 * Mirrors pkg/registry/core/pod/rest/log.go (Get) and k8s.io/apiserver/pkg/registry/generic/rest/streamer.go.
 */
export function logConnecter(deps: ProxyDeps): Connecter {
  return async ({ exchange, registry, namespace, name, signal }) => {
    const { query } = exchange;
    const errors = validateLogOptions(query);
    if (errors.length > 0) throw invalid({ group: "", kind: "PodLogOptions" }, name, errors);
    const pod = await registry.store("pods").get(namespace, name);
    const container = requireContainer(pod, query.get("container") ?? "");
    const nodeName = nodeNameOf(pod);
    // A pod without a node has not run yet: its log is empty.
    if (nodeName === "") return writeBody(exchange, 204, "", undefined);
    const info = await deps.connections.infoFor(registry, nodeName);
    const answer = await ask(deps, exchange, info, logPath(pod, container, query), signal);
    if (answer.type === "upgrade") {
      answer.socket.destroy();
      throw internalError("the kubelet answered a log with an upgrade");
    }
    const { response } = answer;
    const { statusCode = 0 } = response;
    if (statusCode < 200 || statusCode > 206) throw await responseError(response, "pods/log", name);
    if (exchange.upgrade === undefined) return stream(exchange, response);
    const { streamLogMessages } = await import("./log-websocket.js");
    await streamLogMessages(deps, exchange, exchange.upgrade, response, signal);
  };
}

async function ask(
  { trace, connections }: ProxyDeps,
  exchange: Exchange,
  info: KubeletInfo,
  path: string,
  signal: AbortSignal,
): Promise<BackendAnswer> {
  const cause = reportAsked(trace, exchange, info, "GET", path);
  const skipVerify = isTrue(exchange.query, "insecureSkipTLSVerifyBackend");
  const request = { method: "GET", path, headers: { "User-Agent": USER_AGENT }, skipVerify };
  try {
    return await trace.because(cause, () => askKubelet(connections, info, request, signal));
  } catch (error) {
    if (!(error instanceof BackendUnreachable)) throw error;
    throw internalError(`Get "${info.scheme}://${info.address}${path}": ${error.message}`);
  }
}

/** A slow client slows the kubelet down; a client that disconnects ends the kubelet's response. */
async function stream(exchange: Exchange, log: IncomingMessage): Promise<void> {
  const { response } = exchange;
  exchange.began(200);
  response.writeHead(200, [...commonHeaders(exchange), "Content-Type", "text/plain", "Transfer-Encoding", "chunked"]);
  // The client of a silent log needs the headers to know that the log exists.
  response.flushHeaders();
  try {
    await pipeline(log, response);
  } catch {
    // One side broke off and the pipeline closed the other, so that a truncated log does not look complete.
  }
}
