import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import { connectTcp } from "../util/connect-tcp.js";
import { type TlsIdentity, type TlsServer, TlsSessions } from "../util/tls-sessions.js";
import { StreamError } from "./bytes.js";
import { readBounded } from "./read-bounded.js";

export interface DialOptions {
  readonly method: "GET" | "POST";
  /** A name with several values is sent as several headers. `Connection` and `Upgrade` come by themselves. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** what to upgrade to: `SPDY/3.1`, `websocket` */
  readonly protocol: string;
  /** for https: made once where one connects again */
  readonly tls?: TlsSessions | TlsIdentity;
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
  const [send, connection] =
    target.protocol === "https:" ? [httpsRequest, overTls(tls)] : [httpRequest, { createConnection: connectTcp }];
  return new Promise((resolve, reject) => {
    const request = send(target, {
      method,
      headers: { ...(headers as Record<string, string | string[]>), Connection: "Upgrade", Upgrade: protocol },
      ...connection,
    });
    const onAbort = () => {
      reject(signal.reason);
      request.destroy();
    };
    const settled = () => signal.removeEventListener("abort", onAbort);
    signal.addEventListener("abort", onAbort, { once: true });
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

/** A connection of its own, without an agent: an upgraded one is never given back. */
function overTls(tls: TlsSessions | TlsIdentity): RequestOptions {
  const sessions = tls instanceof TlsSessions ? tls : new TlsSessions(tls);
  return { defaultPort: 443, createConnection: (server: TlsServer) => sessions.connect(server) };
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
