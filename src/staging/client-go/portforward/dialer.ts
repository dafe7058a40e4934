import type { Clock } from "../../../util/clock.js";
import type { DialOptions, RefusedUpgrade } from "../../streaming/dial.js";
import type { FrameObserver } from "../../streaming/frame-report.js";
import { PORT_FORWARD_TUNNEL } from "../../streaming/websocket/subprotocols.js";
import { type ConnectedPortForward, connectSpdyPortForward, spdyPortForward } from "./spdy.js";

/** `tunnel`: SPDY in a WebSocket, kubectl's first choice since 1.31. */
export type PortForwardProtocol = "tunnel" | "spdy";

export interface ConnectPortForwardOptions extends Pick<DialOptions, "headers" | "tls"> {
  readonly clock: Clock;
  readonly observer?: FrameObserver | undefined;
  readonly protocol: PortForwardProtocol;
}

/** Mirrors pingPeriod and pingReadDeadline of client-go's WebSockets. */
const HEARTBEAT = { periodMs: 5_000, deadlineMs: 61_000 };

/**
 * Requests a port-forward for any number of connections over one protocol.
 *
 * Mirrors client-go/tools/portforward/tunneling_dialer.go (Dial).
 *
 * @param url of the port-forward: http or https
 * @returns the session, or the server's refusal
 * @throws StreamError if there is no connection or it breaks; the signal's reason
 */
export async function connectPortForward(
  url: string | URL,
  { protocol, ...connect }: ConnectPortForwardOptions,
  signal: AbortSignal,
): Promise<ConnectedPortForward | RefusedUpgrade> {
  if (protocol === "spdy") return connectSpdyPortForward(url, connect, signal);
  const [{ connectWebSocket }, { webSocketTunnel }] = await Promise.all([
    import("../../streaming/websocket/connect.js"),
    import("../../streaming/websocket/tunnel.js"),
  ]);
  const result = await connectWebSocket(url, { ...connect, subprotocols: [PORT_FORWARD_TUNNEL] }, signal);
  if (result.outcome === "refused") return result;
  const { clock } = connect;
  const tunnel = webSocketTunnel(result.ws, { clock }, { heartbeat: HEARTBEAT, closeAnswerMs: 1_000 });
  return { outcome: "connected", session: spdyPortForward(tunnel, Buffer.alloc(0), connect) };
}
