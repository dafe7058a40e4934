import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { type Agent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import { StreamError } from "./bytes.js";
import { readBounded } from "./read-bounded.js";

export interface DialOptions {
  readonly method: "GET" | "POST";
  /** A name with several values is sent as several headers. `Connection` and `Upgrade` come by themselves. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** what to upgrade to: `SPDY/3.1`, `websocket` */
  readonly protocol: string;
  /** for https */
  readonly tls?: Pick<
    ConnectionOptions,
    "ca" | "cert" | "key" | "secureContext" | "servername" | "rejectUnauthorized" | "checkServerIdentity"
  > & {
    /**
     * remembers TLS sessions, so that a further connection needs no whole handshake. Of one identity only, as a session says
     * who one is; and without `keepAlive`, as an upgraded connection is never given back.
     */
    readonly agent?: Agent;
  };
}

/** The server has switched: from here on the socket speaks the other protocol. */
export interface UpgradedSocket {
  readonly outcome: "upgraded";
  readonly socket: Duplex;
  /** what came together with the answer: the first bytes of the other protocol */
  readonly head: Buffer;
  readonly headers: IncomingHttpHeaders;
  /** names and values in turn, as they were sent */
  readonly rawHeaders: readonly string[];
}

/** The server answered, and does not want to. The connection is closed. */
export interface RefusedUpgrade {
  readonly outcome: "refused";
  readonly status: number;
  readonly statusText: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  /** its beginning, when it is long */
  readonly body: Buffer;
}

const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * Connects to a server and asks it with an HTTP/1.1 request to speak another protocol.
 *
 * Mirrors k8s.io/apimachinery/pkg/util/httpstream/spdy/roundtripper.go (RoundTrip). Differs: follows no redirects and uses no
 * proxies of the environment: nothing is dialled but what was named.
 *
 * @param url http or https
 * @throws StreamError, with the system's error as its cause, when there is no connection, or it broke before an answer; the
 *   signal's reason when that aborts first
 */
export async function dialUpgrade(
  url: string | URL,
  { method, headers = {}, protocol, tls = {} }: DialOptions,
  signal: AbortSignal,
): Promise<UpgradedSocket | RefusedUpgrade> {
  signal.throwIfAborted();
  const target = new URL(url);
  const send = target.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(target, {
      method,
      headers: { ...(headers as Record<string, string | string[]>), Connection: "Upgrade", Upgrade: protocol },
      // A connection of its own: an upgraded one is never given back.
      agent: false,
      ...(target.protocol === "https:" ? { ...tls, ALPNProtocols: ["http/1.1"] } : {}),
    });
    const onAbort = () => {
      reject(signal.reason);
      request.destroy();
    };
    const settled = () => signal.removeEventListener("abort", onAbort);
    signal.addEventListener("abort", onAbort, { once: true });
    request.once("socket", (socket: Socket) => socket.setNoDelay(true));
    // Stays: `destroy` is an error to a request that waits.
    request.on("error", (cause) => {
      settled();
      reject(new StreamError(cause.message, { cause }));
    });
    request.once("upgrade", (response: IncomingMessage, socket: Duplex, head: Buffer) => {
      settled();
      resolve({ outcome: "upgraded", socket, head, headers: response.headers, rawHeaders: response.rawHeaders });
    });
    request.once("response", (response: IncomingMessage) => {
      void readRefusal(response).then((refusal) => {
        settled();
        request.destroy();
        resolve(refusal);
      });
    });
    request.end();
  });
}

async function readRefusal(response: IncomingMessage): Promise<RefusedUpgrade> {
  const { bytes } = await readBounded(response, MAX_REFUSAL_BYTES, "leave");
  return {
    outcome: "refused",
    status: response.statusCode ?? 0,
    statusText: response.statusMessage ?? "",
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    body: bytes,
  };
}
