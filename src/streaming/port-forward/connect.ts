import type { Clock } from "../../util/clock.js";
import type { DialOptions, RefusedUpgrade } from "../dial.js";
import type { FrameObserver } from "../frame-report.js";
import { PORT_FORWARD_TUNNEL } from "../websocket/subprotocols.js";
import type { PortForwardClientSession } from "./session.js";
import { connectSpdyPortForward, spdyPortForward } from "./spdy-client.js";

/** `tunnel`: SPDY in a WebSocket, kubectl's first choice since 1.31. */
export type PortForwardProtocol = "tunnel" | "spdy";

export interface ConnectPortForwardOptions extends Pick<DialOptions, "headers" | "tls"> {
  readonly clock: Clock;
  readonly observer?: FrameObserver;
  /** tried in order, until one is accepted */
  readonly protocols: readonly PortForwardProtocol[];
}

export interface PortForwardConnection {
  /** undefined if every protocol was refused */
  readonly session: PortForwardClientSession | undefined;
  readonly refused: readonly { readonly protocol: PortForwardProtocol; readonly refusal: RefusedUpgrade }[];
}

/** Mirrors pingPeriod and pingReadDeadline of client-go's WebSockets. */
const HEARTBEAT = { periodMs: 5_000, deadlineMs: 61_000 };

/**
 * Requests a port-forward for any number of connections.
 *
 * Mirrors client-go/tools/portforward/fallback_dialer.go.
 *
 * @param url of the port-forward: http or https
 * @throws StreamError if there is no connection or it breaks; the signal's reason
 */
export async function connectPortForward(
  url: string | URL,
  { protocols, ...connect }: ConnectPortForwardOptions,
  signal: AbortSignal,
): Promise<PortForwardConnection> {
  const refused: { protocol: PortForwardProtocol; refusal: RefusedUpgrade }[] = [];
  for (const protocol of protocols) {
    const result = await (protocol === "spdy"
      ? connectSpdyPortForward(url, connect, signal)
      : connectTunnel(url, connect, signal));
    if (result.outcome === "connected") return { session: result.session, refused };
    refused.push({ protocol, refusal: result });
  }
  return { session: undefined, refused };
}

async function connectTunnel(
  url: string | URL,
  connect: Omit<ConnectPortForwardOptions, "protocols">,
  signal: AbortSignal,
): Promise<{ readonly outcome: "connected"; readonly session: PortForwardClientSession } | RefusedUpgrade> {
  const [{ connectWebSocket }, { webSocketTunnel }] = await Promise.all([
    import("../websocket/connect.js"),
    import("../websocket/tunnel.js"),
  ]);
  const result = await connectWebSocket(url, { ...connect, subprotocols: [PORT_FORWARD_TUNNEL] }, signal);
  if (result.outcome === "refused") return result;
  const { clock } = connect;
  const tunnel = webSocketTunnel(result.ws, { clock }, { heartbeat: HEARTBEAT, closeAnswerMs: 1_000 });
  return { outcome: "connected", session: spdyPortForward(tunnel, Buffer.alloc(0), connect) };
}
