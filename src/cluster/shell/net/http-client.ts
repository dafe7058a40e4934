import { type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import { onAbort } from "../../../util/async/abort.js";

export interface HttpRequest {
  readonly method: string;
  /** path and query */
  readonly path: string;
  /** sent as they are, in this order */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Buffer;
}

/** Why there was no response. */
export class HttpFailure extends Error {
  override readonly name = "HttpFailure";
  constructor(readonly reason: "empty" | "not-http" | "broken") {
    super(reason);
  }
}

/**
 * Sends a request over a connection of the pod network, with Node's own client.
 * @returns the response; its reader takes the body
 * @throws HttpFailure; the signal's reason
 */
export function sendHttp(stream: Duplex, message: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { method, path, headers, body } = message;
  return new Promise((resolve, reject) => {
    const outgoing = request({ createConnection: () => stream, method, path, setHost: false });
    for (const [name, value] of headers) outgoing.setHeader(name, value);
    // Only the given headers are sent.
    if (!headers.some(([name]) => name.toLowerCase() === "connection")) outgoing.removeHeader("connection");
    const link = onAbort(signal, () => {
      outgoing.destroy();
      reject(signal.reason);
    });
    outgoing.once("response", (response) => {
      link[Symbol.dispose]();
      resolve(response);
    });
    outgoing.on("error", (error: NodeJS.ErrnoException) => {
      link[Symbol.dispose]();
      reject(signal.aborted ? signal.reason : new HttpFailure(reasonOf(error)));
    });
    if (body === undefined) outgoing.removeHeader("transfer-encoding");
    else outgoing.setHeader("Content-Length", body.length);
    outgoing.end(body);
  });
}

function reasonOf({ code = "", message }: NodeJS.ErrnoException): HttpFailure["reason"] {
  if (code.startsWith("HPE_")) return "not-http";
  return /hang up/.test(message) ? "empty" : "broken";
}

/** The pieces of a response's body. @throws HttpFailure if it breaks off; the signal's reason */
export async function* bodyOf(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
  using _ = onAbort(signal, () => response.destroy());
  try {
    for await (const bytes of response) yield bytes as Buffer;
  } catch {
    signal.throwIfAborted();
    throw new HttpFailure("broken");
  }
  signal.throwIfAborted();
}

/** The status line and the headers, as they came, without the empty line. */
export function headLines({ httpVersion, statusCode, statusMessage, rawHeaders }: IncomingMessage): string[] {
  const lines = [`HTTP/${httpVersion} ${statusCode} ${statusMessage}`];
  for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return lines;
}
