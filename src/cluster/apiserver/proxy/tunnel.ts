import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { upgradeHeaders } from "../../../staging/server/proxy/forward-headers.js";
import { StreamError } from "../../../staging/streaming/bytes.js";
import { acceptWebSocket } from "../../../staging/streaming/websocket/accept.js";
import { TUNNEL_PREFIX } from "../../../staging/streaming/websocket/subprotocols.js";
import { webSocketTunnel } from "../../../staging/streaming/websocket/tunnel.js";
import type { Exchange } from "../endpoints/exchange.js";
import { hijack } from "../endpoints/hijack.js";
import type { ProxyDeps } from "./deps.js";
import { requireUpgrade, tunnelledProtocols } from "./offered.js";
import { agreedText, ask, join, passRefusal, type UpgradeTarget } from "./upgrade.js";

/**
 * Forwards a WebSocket that tunnels SPDY to a kubelet as SPDY.
 *
 * Mirrors k8s.io/apiserver/pkg/util/proxy/streamtunnel.go (TunnelingHandler), since 1.31.
 * @throws StatusError as `proxyUpgrade`
 */
export async function proxyTunnel(
  deps: ProxyDeps,
  exchange: Exchange,
  target: UpgradeTarget,
  signal: AbortSignal,
): Promise<void> {
  const upgrade = requireUpgrade(exchange);
  const protocols = tunnelledProtocols(exchange.request);
  const asked = { method: "POST", path: target.path, headers: spdyHeaders(exchange.request, protocols) };
  const { answer, head } = await ask(deps, exchange, target, asked, signal);
  if (answer.type === "response") return passRefusal(deps, exchange, upgrade, answer.response);
  const chosen = String(answer.response.headers["x-stream-protocol-version"] ?? "");
  const socket = hijack(exchange, upgrade);
  try {
    const { ws } = await acceptWebSocket(exchange.request, socket, head, [`${TUNNEL_PREFIX}${chosen}`]);
    const client = webSocketTunnel(ws, { clock: deps.clock });
    const agreed = `${TUNNEL_PREFIX}${chosen} with the client, ${agreedText(answer.response)} with the kubelet`;
    await join(deps, exchange, { client, head: Buffer.alloc(0) }, answer, agreed, signal);
  } catch (error) {
    // The handshake was refused, and the client has the reason.
    if (!(error instanceof StreamError)) throw error;
  } finally {
    answer.socket.destroy();
  }
}

/** Mirrors createSPDYRequest in streamtunnel.go. */
function spdyHeaders(request: IncomingMessage, protocols: readonly string[]): OutgoingHttpHeaders {
  const headers = Object.entries(upgradeHeaders(request)).filter(([name]) => !/^(Sec-Websocket-|Upgrade$)/.test(name));
  return { ...Object.fromEntries(headers), Upgrade: "SPDY/3.1", "X-Stream-Protocol-Version": [...protocols] };
}
