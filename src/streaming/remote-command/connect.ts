import type { Clock } from "../../util/clock.js";
import type { DialOptions, RefusedUpgrade } from "../dial.js";
import type { FrameObserver } from "../frame-report.js";
import { V4, V4_BASE64, V5 } from "../websocket/subprotocols.js";
import type { RemoteCommandClientSession, RemoteCommandOptions } from "./session.js";
import { connectSpdyRemoteCommand } from "./spdy-client.js";

/** `v5`, `v4` and `v4-base64` are WebSockets. */
export type RemoteCommandProtocol = "v5" | "v4" | "v4-base64" | "spdy";

const SUBPROTOCOLS = { v5: V5, v4: V4, "v4-base64": V4_BASE64 } as const;

export interface ConnectRemoteCommandOptions extends Pick<DialOptions, "headers" | "tls"> {
  readonly options: RemoteCommandOptions;
  readonly clock: Clock;
  readonly observer?: FrameObserver;
  /** tried in order, until one is accepted; client-go's since 1.31: `v5`, then `spdy` */
  readonly protocols: readonly RemoteCommandProtocol[];
}

export interface RefusedProtocol {
  readonly protocol: RemoteCommandProtocol;
  readonly refusal: RefusedUpgrade;
}

export interface RemoteCommandConnection {
  /** undefined if every protocol was refused */
  readonly session: RemoteCommandClientSession | undefined;
  /** the refused protocols */
  readonly refused: readonly RefusedProtocol[];
}

/**
 * Requests a remote command.
 *
 * Mirrors client-go/tools/remotecommand/fallback.go (FallbackExecutor). Differs: falls back after any refusal except
 * those about the request itself (401, 403 with a Status, 404).
 *
 * @param url of the exec or attach, with its query: http or https
 * @throws StreamError if there is no connection or it breaks; the signal's reason
 */
export async function connectRemoteCommand(
  url: string | URL,
  { protocols, ...connect }: ConnectRemoteCommandOptions,
  signal: AbortSignal,
): Promise<RemoteCommandConnection> {
  const refused: RefusedProtocol[] = [];
  for (const protocol of protocols) {
    const result = await tryProtocol(url, protocol, connect, signal);
    if (!("status" in result)) return { session: result.session, refused };
    refused.push({ protocol, refusal: result });
    if (isAboutRequest(result)) break;
  }
  return { session: undefined, refused };
}

async function tryProtocol(
  url: string | URL,
  protocol: RemoteCommandProtocol,
  connect: Omit<ConnectRemoteCommandOptions, "protocols">,
  signal: AbortSignal,
): Promise<{ readonly session: RemoteCommandClientSession } | RefusedUpgrade> {
  if (protocol === "spdy") return connectSpdyRemoteCommand(url, connect, signal);
  // Loaded on demand: the library is a tenth of the start-up code, and SPDY does not need it.
  const [{ connectWebSocket }, { webSocketRemoteCommand }] = await Promise.all([
    import("../websocket/connect.js"),
    import("./websocket-client.js"),
  ]);
  const result = await connectWebSocket(url, { ...connect, subprotocols: [SUBPROTOCOLS[protocol]] }, signal);
  return result.outcome === "refused" ? result : { session: webSocketRemoteCommand(result, connect) };
}

/** Another protocol would be refused too. A 403 without a body means that the subprotocol was refused. */
function isAboutRequest({ status, body }: RefusedUpgrade): boolean {
  return status === 401 || status === 404 || (status === 403 && body.length > 0);
}
