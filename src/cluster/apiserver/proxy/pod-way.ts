import { request as httpRequest } from "node:http";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { spdyPortForward } from "../../../staging/client-go/portforward/spdy.js";
import type { BackendAnswer } from "../../../staging/server/proxy/backend.js";
import { answerTo, BackendUnreachable } from "../../../staging/server/proxy/backend.js";
import { connectionRefused, goConnectError } from "../../../staging/server/proxy/go-errors.js";
import { connectionStream } from "../../../staging/streaming/port-forward/connection-stream.js";
import { messageOf } from "../../../util/errors.js";
import type { Exchange } from "../endpoints/exchange.js";
import type { ProxyDeps } from "./deps.js";
import { joinHostPort } from "./go-url.js";
import type { KubeletInfo } from "./kubelet-connection.js";
import { askKubelet, type KubeletRequest } from "./kubelet-request.js";
import { portForwardPath } from "./pod-locations.js";
import type { PodWay } from "./upgrade.js";

export interface PodPlace {
  readonly info: KubeletInfo;
  readonly pod: KubeObject;
  readonly ip: string;
  /** as requested: a number, or a name that cannot be resolved */
  readonly port: string;
  /** the pod serves TLS; its certificate is not verified, like upstream */
  readonly isTls: boolean;
}

const PORT_FORWARD_HEADERS = {
  "User-Agent": "Go-http-client/1.1",
  Connection: "Upgrade",
  Upgrade: "SPDY/3.1",
  "X-Stream-Protocol-Version": "portforward.k8s.io",
};

/** Sends requests to a pod over connections that its kubelet forwards, one for each request. */
export function podWay(deps: ProxyDeps, exchange: Exchange, place: PodPlace): PodWay {
  const { ip, port, isTls } = place;
  const { host } = exchange.request.headers;
  return {
    url: `${isTls ? "https" : "http"}://${joinHostPort(ip, port)}`,
    async ask(request, signal) {
      const forwarded = await forwardedStream(deps, place, signal);
      const stream = isTls ? connectTls({ socket: forwarded, rejectUnauthorized: false }) : forwarded;
      // The pod receives the Host header that the client used. Mirrors UpgradeAwareHandler.ServeHTTP (UseLocationHost).
      const headers = { ...request.headers, Host: host ?? joinHostPort(ip, port) };
      return ask(stream, { ...request, headers }, place, signal);
    },
  };
}

/** Opens a connection to the pod's port. @throws BackendUnreachable */
async function forwardedStream(deps: ProxyDeps, place: PodPlace, signal: AbortSignal): Promise<Duplex> {
  const { info, pod } = place;
  const port = portNumber(place.port);
  const path = portForwardPath(pod, new URLSearchParams());
  const request = { method: "POST", path, headers: PORT_FORWARD_HEADERS };
  const answer = await askKubelet(deps.connections, info, request, signal);
  if (answer.type === "response") {
    answer.response.destroy();
    const { statusCode, statusMessage } = answer.response;
    throw new BackendUnreachable(`the kubelet refused the port-forward: ${statusCode} ${statusMessage}`);
  }
  const session = spdyPortForward(answer.socket, answer.head, { clock: deps.clock });
  try {
    const stream = connectionStream(await session.connect(port), (why) => new BackendUnreachable(problem(why, place)));
    stream.once("close", () => void session.close());
    return stream;
  } catch (cause) {
    await session.close();
    throw new BackendUnreachable(messageOf(cause), { cause });
  }
}

/** Parses a port like Go's dialer. @throws BackendUnreachable */
function portNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new BackendUnreachable(`dial tcp: lookup tcp/${text}: unknown port`);
  const port = Number(text);
  if (port < 1 || port > 65_535) throw new BackendUnreachable(`dial tcp: address ${text}: invalid port`);
  return port;
}

/** The runtime's message contains its own address; the client expects the pod's. */
function problem(why: string, { ip, port }: PodPlace): string {
  return /connection refused/.test(why) ? connectionRefused(joinHostPort(ip, port)) : why;
}

function ask(
  stream: Duplex,
  { method, path, headers, body }: KubeletRequest,
  { ip, port }: PodPlace,
  signal: AbortSignal,
): Promise<BackendAnswer> {
  const request = httpRequest({ createConnection: () => stream, method, path, headers });
  let isUpgraded = false;
  request.once("upgrade", () => {
    isUpgraded = true;
  });
  request.on("error", () => stream.destroy());
  request.once("close", () => {
    if (!isUpgraded) stream.destroy();
  });
  const why = (error: Error) =>
    error instanceof BackendUnreachable ? error.message : goConnectError(error, joinHostPort(ip, port));
  return answerTo(request, body, why, signal);
}
