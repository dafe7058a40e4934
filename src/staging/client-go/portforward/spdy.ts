import type { Duplex } from "node:stream";
import { defined } from "../../../util/defined.js";
import { StreamError } from "../../streaming/bytes.js";
import { type DialOptions, dialUpgrade, type RefusedUpgrade } from "../../streaming/dial.js";
import type { PortForwardClientSession } from "../../streaming/port-forward/session.js";
import {
  clientConnection,
  PORT_FORWARD_PROTOCOL,
  SPDY_PORT_FORWARD,
} from "../../streaming/port-forward/spdy-streams.js";
import { PROTOCOL_VERSION_HEADER, SPDY_31 } from "../../streaming/spdy/accept.js";
import { SpdyConnection, type SpdyDeps } from "../../streaming/spdy/connection.js";

export interface ConnectSpdyPortForwardOptions extends SpdyDeps, Pick<DialOptions, "headers" | "tls"> {
  /** default POST, as in client-go */
  readonly method?: DialOptions["method"] | undefined;
}

export interface ConnectedPortForward {
  readonly outcome: "connected";
  readonly session: PortForwardClientSession;
}

/**
 * Requests a port-forward over SPDY.
 *
 * Mirrors client-go/tools/portforward/portforward.go (ForwardPorts).
 *
 * @returns the session, or the server's refusal
 * @throws StreamError if there is no connection or it breaks; the signal's reason
 */
export async function connectSpdyPortForward(
  url: string | URL,
  connect: ConnectSpdyPortForwardOptions,
  signal: AbortSignal,
): Promise<ConnectedPortForward | RefusedUpgrade> {
  const { headers, tls, method = "POST" } = connect;
  const answer = await dialUpgrade(
    url,
    {
      method,
      protocol: SPDY_31,
      headers: { ...headers, [PROTOCOL_VERSION_HEADER]: PORT_FORWARD_PROTOCOL },
      ...defined({ tls }),
    },
    signal,
  );
  if (answer.outcome === "refused") return answer;
  const chosen = answer.headers[PROTOCOL_VERSION_HEADER.toLowerCase()];
  if (chosen !== PORT_FORWARD_PROTOCOL) {
    answer.socket.destroy();
    const lists = `client supports "${PORT_FORWARD_PROTOCOL}", server returned "${chosen ?? ""}"`;
    throw new StreamError(`unable to negotiate protocol: ${lists}`);
  }
  return { outcome: "connected", session: spdyPortForward(answer.socket, answer.head, connect) };
}

/**
 * The client's side of a port-forward on a socket that already speaks SPDY: upgraded, or a tunnel of WebSocket
 * messages.
 *
 * Mirrors client-go/tools/portforward/portforward.go (handleConnection). Differs: opens both streams at once.
 */
export function spdyPortForward(
  socket: Duplex,
  head: Uint8Array,
  { clock, observer }: SpdyDeps,
): PortForwardClientSession {
  const connection = new SpdyConnection(socket, "client", { clock, observer }, { head });
  const close = () => connection.close();
  let nextRequestId = 0;
  return {
    protocol: SPDY_PORT_FORWARD,
    closed: connection.closed.then(() => {}),
    async connect(port) {
      const headers = { port: String(port), requestid: String(nextRequestId++) };
      const opening = [
        connection.open({ streamtype: "error", ...headers }),
        connection.open({ streamtype: "data", ...headers }),
      ] as const;
      try {
        const [error, data] = await Promise.all(opening);
        await error.end();
        return clientConnection({ data, error }, port);
      } catch (reason) {
        for (const one of await Promise.allSettled(opening)) if (one.status === "fulfilled") one.value.reset();
        throw reason;
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
