import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../../../util/clock.js";
import type { FrameObserver } from "../frame-report.js";
import { isWebSocketRequest } from "../websocket/subprotocols.js";
import type { PortForwardServerSession } from "./session.js";
import { acceptSpdyPortForward } from "./spdy-server.js";
import { acceptWebSocketPortForward } from "./websocket-server.js";

export interface AcceptPortForwardOptions {
  /** the ports of a WebSocket; over SPDY each connection names its port */
  readonly ports: readonly number[];
  readonly clock: Clock;
  readonly observer?: FrameObserver;
  /** default four hours */
  readonly idleTimeoutMs?: number;
  /** SPDY: the time limit for the second stream of a pair; default 30 s */
  readonly creationTimeoutMs?: number;
}

/**
 * Serves a port-forward with the client's protocol: WebSocket or SPDY. SPDY in a WebSocket, which kubectl uses since
 * 1.31, is only for API servers.
 *
 * Mirrors pkg/kubelet/cri/streaming/portforward/portforward.go (ServePortForward).
 *
 * @throws StreamError if the upgrade was refused; the client has its answer then
 */
export async function acceptPortForward(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  options: AcceptPortForwardOptions,
): Promise<PortForwardServerSession> {
  const accept = isWebSocketRequest(request) ? acceptWebSocketPortForward : acceptSpdyPortForward;
  return accept(request, socket, head, options);
}
