import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../../util/clock.js";
import type { FrameObserver } from "../frame-report.js";
import { acceptWebSocket } from "../websocket/accept.js";
import { isWebSocketRequest, offeredSubprotocols, PORT_FORWARD_TUNNEL } from "../websocket/subprotocols.js";
import { webSocketTunnel } from "../websocket/tunnel.js";
import type { PortForwardServerSession } from "./session.js";
import { acceptSpdyPortForward, serveSpdyPortForward } from "./spdy-server.js";
import { acceptWebSocketPortForward } from "./websocket-server.js";

export interface AcceptPortForwardOptions {
  /** what a WebSocket forwards (`portsInQuery`); over SPDY each connection names its own */
  readonly ports: readonly number[];
  readonly clock: Clock;
  readonly observer?: FrameObserver;
  /** default four hours */
  readonly idleTimeoutMs?: number;
  /** SPDY: how long the second stream of a pair may come after the first; default 30 s */
  readonly creationTimeoutMs?: number;
  /** kubectl's SPDY in a WebSocket: API servers since 1.31 take it, kubelets and runtimes never; default false */
  readonly allowTunnel?: boolean;
}

/**
 * Serves a port-forward by whatever the client asks for: a WebSocket, SPDY, or SPDY in a WebSocket.
 *
 * Mirrors pkg/kubelet/cri/streaming/portforward/portforward.go (ServePortForward).
 *
 * @throws StreamError when the upgrade was refused: the client has its answer then
 */
export async function acceptPortForward(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  { allowTunnel = false, ...accept }: AcceptPortForwardOptions,
): Promise<PortForwardServerSession> {
  if (!isWebSocketRequest(request)) return acceptSpdyPortForward(request, socket, head, accept);
  if (!allowTunnel || !offeredSubprotocols(request).includes(PORT_FORWARD_TUNNEL)) {
    return acceptWebSocketPortForward(request, socket, head, accept);
  }
  const { ws } = await acceptWebSocket(request, socket, head, [PORT_FORWARD_TUNNEL]);
  const { clock } = accept;
  return serveSpdyPortForward(webSocketTunnel(ws, { clock }), Buffer.alloc(0), accept);
}
