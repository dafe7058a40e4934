import type { Clock } from "../../../util/clock.js";
import type { DialOptions, RefusedUpgrade } from "../../streaming/dial.js";
import type { FrameObserver } from "../../streaming/frame-report.js";
import type { RemoteCommandOptions } from "../../streaming/remote-command/session.js";
import { V4, V4_BASE64, V5 } from "../../streaming/websocket/subprotocols.js";
import { type ConnectedRemoteCommand, connectSpdyRemoteCommand } from "./spdy.js";

/** `v5`, `v4` and `v4-base64` are WebSockets. */
export type RemoteCommandProtocol = "v5" | "v4" | "v4-base64" | "spdy";

const SUBPROTOCOLS = { v5: V5, v4: V4, "v4-base64": V4_BASE64 } as const;

export interface ConnectRemoteCommandOptions extends Pick<DialOptions, "headers" | "tls"> {
  readonly options: RemoteCommandOptions;
  readonly clock: Clock;
  readonly observer?: FrameObserver | undefined;
  readonly protocol: RemoteCommandProtocol;
}

/**
 * Requests a remote command over one protocol.
 *
 * @param url of the exec or attach, with its query: http or https
 * @returns the session, or the server's refusal
 * @throws StreamError if there is no connection or it breaks; the signal's reason
 */
export async function connectRemoteCommand(
  url: string | URL,
  { protocol, ...connect }: ConnectRemoteCommandOptions,
  signal: AbortSignal,
): Promise<ConnectedRemoteCommand | RefusedUpgrade> {
  if (protocol === "spdy") return connectSpdyRemoteCommand(url, connect, signal);
  // Loaded on demand: the library is a tenth of the start-up code, and SPDY does not need it.
  const [{ connectWebSocket }, { webSocketRemoteCommand }] = await Promise.all([
    import("../../streaming/websocket/connect.js"),
    import("./websocket.js"),
  ]);
  const result = await connectWebSocket(url, { ...connect, subprotocols: [SUBPROTOCOLS[protocol]] }, signal);
  if (result.outcome === "refused") return result;
  return { outcome: "connected", session: webSocketRemoteCommand(result, connect) };
}
