import {
  Agent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import { onAbort } from "../../util/async/abort.js";
import { connectTcp } from "../../util/net/connect-tcp.js";
import { type TlsIdentity, type TlsServer, TlsSessions } from "../../util/net/tls-sessions.js";
import { StreamError } from "./bytes.js";
import { readBounded } from "./read-bounded.js";

export interface DialOptions {
  readonly method: "GET" | "POST";
  /** A name with several values becomes several headers. `Connection` and `Upgrade` are added. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** the protocol: `SPDY/3.1`, `websocket` */
  readonly protocol: string;
  /** for https; create it once for repeated connections; an agent connects through a proxy */
  readonly tls?: TlsSessions | TlsIdentity | Agent;
}

/** The server has switched: the socket now speaks the other protocol. */
export interface UpgradedSocket {
  readonly outcome: "upgraded";
  readonly socket: Duplex;
  /** the first bytes of the other protocol, received with the answer */
  readonly head: Buffer;
  readonly headers: IncomingHttpHeaders;
  /** names and values in turn, as received */
  readonly rawHeaders: readonly string[];
}

/** The server refused the upgrade. The connection is closed. */
export interface RefusedUpgrade {
  readonly outcome: "refused";
  readonly status: number;
  readonly statusText: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  /** the beginning of the body */
  readonly body: Buffer;
}

const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * Connects to a server and requests another protocol with HTTP/1.1.
 *
 * Mirrors k8s.io/apimachinery/pkg/util/httpstream/spdy/roundtripper.go (RoundTrip). Differs: follows no redirects and
 * ignores proxies in the environment, so it only connects to the given server.
 *
 * @param url http or https
 * @throws StreamError, with the system's error as its cause, if there is no connection, or it breaks before an answer;
 * the signal's reason if that aborts first
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
    const link = onAbort(signal, () => {
      reject(signal.reason);
      request.destroy();
    });
    const settled = () => link[Symbol.dispose]();
    // The listener stays, because `destroy` causes an error in a waiting request.
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

/** A connection without an agent unless there is a proxy, because an upgraded one is never reused. */
function overTls(tls: TlsSessions | TlsIdentity | Agent): RequestOptions {
  if (tls instanceof Agent) return { agent: tls };
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
