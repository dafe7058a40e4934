import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../../util/clock.js";
import type { FrameObserver } from "../frame-report.js";
import { isWebSocketRequest } from "../websocket/subprotocols.js";
import type { PortForwardServerSession } from "./session.js";
import { acceptSpdyPortForward } from "./spdy-server.js";
import { acceptWebSocketPortForward } from "./websocket-server.js";

export interface AcceptPortForwardOptions {
  /** what a WebSocket forwards; over SPDY each connection names its own */
  readonly ports: readonly number[];
  readonly clock: Clock;
  readonly observer?: FrameObserver;
  /** default four hours */
  readonly idleTimeoutMs?: number;
  /** SPDY: how long the second stream of a pair may come after the first; default 30 s */
  readonly creationTimeoutMs?: number;
}

/**
 * Serves a port-forward by whatever the client asks for: a WebSocket or SPDY. What kubectl does since 1.31, SPDY in a
 * WebSocket, is for API servers only.
 *
 * Mirrors pkg/kubelet/cri/streaming/portforward/portforward.go (ServePortForward).
 *
 * @throws StreamError when the upgrade was refused: the client has its answer then
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
