import type { PortForwardServerSession } from "../../streaming/port-forward/session.js";
import type { RemoteCommandOptions, RemoteCommandServerSession } from "../../streaming/remote-command/session.js";
import type { Clock } from "../../util/clock.js";
import type { StreamConnection } from "./server.js";

/**
 * Answers a client's request to upgrade, whichever way it wants its streams carried. Loaded when the first client comes.
 * Mirrors pkg/kubelet/cri/streaming/remotecommand/httpstream.go (createStreams).
 * @throws StreamError when it was refused: the client has its answer then
 */
export async function acceptRemoteCommand(
  { request, socket, head }: StreamConnection,
  options: RemoteCommandOptions,
  clock: Clock,
): Promise<RemoteCommandServerSession> {
  const { acceptWebSocketRemoteCommand } = await import("../../streaming/remote-command/websocket-server.js");
  return acceptWebSocketRemoteCommand(request, socket, head, { options, clock });
}

/** Mirrors pkg/kubelet/cri/streaming/portforward/portforward.go (ServePortForward). @throws StreamError */
export async function acceptPortForward(
  { request, socket, head }: StreamConnection,
  ports: readonly number[],
  clock: Clock,
): Promise<PortForwardServerSession> {
  const { acceptWebSocketPortForward } = await import("../../streaming/port-forward/websocket-server.js");
  return acceptWebSocketPortForward(request, socket, head, { ports, clock });
}
