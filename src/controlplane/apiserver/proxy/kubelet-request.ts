import { type ClientRequest, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex, Readable } from "node:stream";
import { connectionRefused, goConnectError } from "./go-errors.js";
import type { KubeletConnections, KubeletInfo } from "./kubelet-connection.js";

export interface KubeletRequest {
  readonly method: string;
  /** path and query, encoded */
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Readable;
  readonly skipVerify?: boolean;
}

export type KubeletAnswer =
  | { readonly type: "response"; readonly response: IncomingMessage }
  | { readonly type: "upgrade"; readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer };

/** No answer came; the message says why in Go's words. */
export class KubeletUnreachable extends Error {
  override readonly name = "KubeletUnreachable";
}

/**
 * Asks a kubelet over HTTPS, on a connection of its own, as the API server (`kube-apiserver-kubelet-client`).
 *
 * @param signal ends the request; after an upgrade the socket belongs to the caller
 * @throws KubeletUnreachable
 */
export async function askKubelet(
  connections: KubeletConnections,
  info: KubeletInfo,
  { method, path, headers, body, skipVerify = false }: KubeletRequest,
  signal: AbortSignal,
): Promise<KubeletAnswer> {
  if (!info.mayDial) throw new KubeletUnreachable(connectionRefused(info.address));
  const options = await connections.requestOptions(info, skipVerify);
  const send = connections.scheme === "http" ? httpRequest : httpsRequest;
  const request = send({ ...options, method, path, headers });
  return answerTo(request, body, (error) => goConnectError(error, info.address), signal);
}

/**
 * Sends what is left of a request and waits for its answer.
 *
 * @param problem in Go's words, why no answer came
 * @param signal ends the request; after an upgrade the socket belongs to the caller
 * @throws KubeletUnreachable
 */
export function answerTo(
  request: ClientRequest,
  body: Readable | undefined,
  problem: (error: Error) => string,
  signal: AbortSignal,
): Promise<KubeletAnswer> {
  return new Promise((resolve, reject) => {
    const abort = () => request.destroy(new Error("context canceled"));
    const release = () => signal.removeEventListener("abort", abort);
    signal.addEventListener("abort", abort, { once: true });
    request.once("close", release);
    // Stays: what breaks after the answer began is told by the answer.
    request.on("error", (error) => reject(new KubeletUnreachable(problem(error), { cause: error })));
    request.once("upgrade", (response, socket, head) => {
      release();
      resolve({ type: "upgrade", response, socket, head });
    });
    request.once("response", (response) => resolve({ type: "response", response }));
    if (signal.aborted) abort();
    if (body === undefined) request.end();
    else body.pipe(request);
  });
}
