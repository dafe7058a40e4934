import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../../../util/clock.js";
import type { FrameObserver } from "../frame-report.js";
import { isWebSocketRequest } from "../websocket/subprotocols.js";
import type { RemoteCommandOptions, RemoteCommandServerSession } from "./session.js";
import { acceptSpdyRemoteCommand } from "./spdy-server.js";

export interface AcceptRemoteCommandOptions {
  readonly options: RemoteCommandOptions;
  readonly clock: Clock;
  readonly observer?: FrameObserver;
  /** default four hours */
  readonly idleTimeoutMs?: number;
  /** SPDY: the time limit for opening the streams; default 30 s */
  readonly creationTimeoutMs?: number;
  /** WebSocket subprotocols; default: those of kubelets and runtimes, which exclude v5 */
  readonly subprotocols?: readonly string[];
}

/**
 * Serves a remote command with the client's protocol: WebSocket or SPDY.
 *
 * Mirrors pkg/kubelet/cri/streaming/remotecommand/httpstream.go (createStreams).
 *
 * @throws StreamError if the upgrade was refused; the client has its answer then
 */
export async function acceptRemoteCommand(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  accept: AcceptRemoteCommandOptions,
): Promise<RemoteCommandServerSession> {
  if (isWebSocketRequest(request)) {
    const { acceptWebSocketRemoteCommand } = await import("./websocket-server.js");
    return acceptWebSocketRemoteCommand(request, socket, head, accept);
  }
  return acceptSpdyRemoteCommand(request, socket, head, accept);
}
