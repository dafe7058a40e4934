import type { IncomingMessage } from "node:http";
import { badRequest } from "../../../staging/apimachinery/errors.js";
import { offeredSubprotocols, TUNNEL_PREFIX } from "../../../staging/streaming/websocket/subprotocols.js";
import type { Exchange, Upgrade } from "../endpoints/exchange.js";

/** The SPDY protocols that a client's WebSocket can tunnel; empty if it is not a tunnel. */
export function tunnelledProtocols(request: IncomingMessage): string[] {
  return offeredSubprotocols(request)
    .filter((one) => one.startsWith(TUNNEL_PREFIX) && one.endsWith(".k8s.io"))
    .map((one) => one.slice(TUNNEL_PREFIX.length));
}

/** @throws StatusError 400 */
export function requireUpgrade({ upgrade }: Exchange): Upgrade {
  if (upgrade === undefined) throw badRequest("Upgrade request required");
  return upgrade;
}
