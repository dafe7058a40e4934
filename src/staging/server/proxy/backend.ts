import type { ClientRequest, IncomingMessage } from "node:http";
import type { Duplex, Readable } from "node:stream";
import { onAbort } from "../../../util/async/abort.js";

export type BackendAnswer =
  | { readonly type: "response"; readonly response: IncomingMessage }
  | { readonly type: "upgrade"; readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer };

/** The backend did not respond; the message is Go's. */
export class BackendUnreachable extends Error {
  override readonly name = "BackendUnreachable";
}

/**
 * Sends the rest of a request and waits for the response.
 *
 * @param problem maps an error to Go's message
 * @param signal ends the request; after an upgrade the socket belongs to the caller
 * @throws BackendUnreachable
 */
export function answerTo(
  request: ClientRequest,
  body: Readable | undefined,
  problem: (error: Error) => string,
  signal: AbortSignal,
): Promise<BackendAnswer> {
  return new Promise((resolve, reject) => {
    // Stays attached: once the response has begun, the response itself reports errors.
    request.on("error", (error) => reject(new BackendUnreachable(problem(error), { cause: error })));
    const link = onAbort(signal, () => request.destroy(new Error("context canceled")));
    const release = () => link[Symbol.dispose]();
    request.once("close", release);
    request.once("upgrade", (response, socket, head) => {
      release();
      resolve({ type: "upgrade", response, socket, head });
    });
    request.once("response", (response) => resolve({ type: "response", response }));
    if (body === undefined) request.end();
    else body.pipe(request);
  });
}

/** Formats a response head for a connection that HTTP no longer owns. @param headers alternates names and values */
export function headText(statusCode: number, statusText: string, headers: readonly string[]): string {
  let text = `HTTP/1.1 ${statusCode} ${statusText}\r\n`;
  for (let i = 0; i + 1 < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${text}\r\n`;
}
