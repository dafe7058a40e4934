import { request as httpRequest, type OutgoingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Readable } from "node:stream";
import { answerTo, type BackendAnswer } from "../../../staging/server/proxy/backend.js";
import { goConnectError } from "../../../staging/server/proxy/go-errors.js";
import { currentScope } from "../../../trace/scope.js";
import { formatTraceparent } from "../../../trace/traceparent.js";
import type { KubeletConnections, KubeletInfo } from "./kubelet-connection.js";

export interface KubeletRequest {
  readonly method: string;
  /** path and query, encoded */
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Readable;
  readonly skipVerify?: boolean;
}

/**
 * Sends a request to a kubelet over a new HTTPS connection, as the API server (`kube-apiserver-kubelet-client`). If a trace keeps
 * causes, the cause of the running code goes with it; else the client's header does.
 *
 * @param signal ends the request; after an upgrade the socket belongs to the caller
 * @throws BackendUnreachable
 */
export async function askKubelet(
  connections: KubeletConnections,
  info: KubeletInfo,
  { method, path, headers, body, skipVerify = false }: KubeletRequest,
  signal: AbortSignal,
): Promise<BackendAnswer> {
  await connections.checkReachable(info, signal);
  const options = await connections.requestOptions(info, skipVerify);
  const send = connections.scheme === "http" ? httpRequest : httpsRequest;
  const cause = currentScope()?.causedBy;
  const traced = cause === undefined ? headers : { ...headers, Traceparent: formatTraceparent(cause) };
  const request = send({ ...options, method, path, headers: traced });
  return answerTo(request, body, (error) => goConnectError(error, info.address), signal);
}
