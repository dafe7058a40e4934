import type { IncomingMessage, ServerResponse } from "node:http";
import type { SecureContext } from "node:tls";
import { onAbort } from "../../../../util/async/abort.js";
import { requestUrl } from "../../../../util/net/request-url.js";
import { type BindErrno, bindErrorText, listenTcp } from "../../net/listen.js";
import type { Self } from "../../process/process.js";
import { untilKilled } from "../system.js";
import { serveHttp } from "../web/http-server.js";
import { goLog } from "./go-log.js";

const MAX_BODY_BYTES = 1_048_576;

/** A request and its answer, as an endpoint needs them. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly path: string;
  readonly query: URLSearchParams;
  /** the client's address: `10.244.0.5:40000` */
  readonly peer: string;
  answer(status: number, body: string | Buffer, headers?: Readonly<Record<string, string>>): void;
}

/** Answers a request. An error becomes a 500. */
export type Endpoint = (exchange: Exchange) => Promise<void> | void;

/**
 * Serves HTTP on a port of the pod until the process ends.
 * @param tls for HTTPS
 * @returns the error of a port that cannot be bound
 */
export function serve(self: Self, port: number, endpoint: Endpoint, tls?: SecureContext): BindErrno | undefined {
  const server = serveHttp(self, (request, response) => respond(request, response, endpoint), tls);
  const listening = listenTcp(self, port, server.listener);
  if (typeof listening === "string") return listening;
  onAbort(self.signal, () => server.close());
  return undefined;
}

/** As `http.ListenAndServe`: serves until the process is killed. @returns 1 if it cannot listen */
export async function listenAndServe(self: Self, port: number, endpoint: Endpoint): Promise<number> {
  const errno = serve(self, port, endpoint);
  if (errno === undefined) return untilKilled(self);
  await goLog(self, `listen tcp :${port}: bind: ${bindErrorText(errno).toLowerCase()}`);
  return 1;
}

async function respond(request: IncomingMessage, response: ServerResponse, endpoint: Endpoint): Promise<void> {
  const { pathname, searchParams } = requestUrl(request.url) ?? new URL("http://pod");
  const answer: Exchange["answer"] = (status, body, headers = {}) => {
    const length = { "content-length": Buffer.byteLength(body) };
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...length, ...headers });
    response.end(body);
  };
  const peer = `${request.socket.remoteAddress}:${request.socket.remotePort}`;
  try {
    await endpoint({ request, path: decodeURIComponent(pathname), query: searchParams, peer, answer });
  } catch (error) {
    if (!response.headersSent) answer(500, String(error));
  }
}

/** The body of a request: at most a megabyte of it. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    parts.push(part as Buffer);
    length += (part as Buffer).length;
    if (length > MAX_BODY_BYTES) break;
  }
  return Buffer.concat(parts).toString("latin1");
}
