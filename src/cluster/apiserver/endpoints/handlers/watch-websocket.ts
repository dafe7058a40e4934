import type { WatchEvent } from "../../../../staging/apimachinery/api/meta.js";
import { headText } from "../../../../staging/server/proxy/backend.js";
import { acceptWebSocket } from "../../../../staging/streaming/websocket/accept.js";
import { MessageSocket } from "../../../../staging/streaming/websocket/message-socket.js";
import { UNNAMED } from "../../../../staging/streaming/websocket/subprotocols.js";
import type { Clock } from "../../../../util/clock.js";
import type { Exchange, Upgrade } from "../exchange.js";
import { hijack } from "../hijack.js";
import { asStatusError } from "../responsewriters/answer.js";

/**
 * Serves a watch as WebSocket messages, one per event, and ends it with a close frame. Refuses requests without an
 * Origin, as golang.org/x/net/websocket's Handler does.
 *
 * Mirrors k8s.io/apiserver/pkg/endpoints/handlers/watch.go (WatchServer.HandleWS).
 */
export async function sendWatchMessages(
  clock: Clock,
  exchange: Exchange,
  upgrade: Upgrade,
  events: AsyncIterable<WatchEvent>,
  encode: (event: WatchEvent) => Buffer | string,
): Promise<void> {
  const { request } = exchange;
  const isRefused = request.headers.origin === undefined;
  const socket = hijack(exchange, upgrade, isRefused ? 403 : 101);
  if (isRefused) {
    socket.resume();
    socket.end(headText(403, "Forbidden", []), () => socket.destroy());
    return;
  }
  try {
    const { ws } = await acceptWebSocket(request, socket, upgrade.head, [UNNAMED], { namesUnnamed: false });
    const messages = new MessageSocket(ws, { take: () => {}, ended: () => {} }, { clock }, { socket });
    try {
      for await (const event of events) await messages.send(encode(event).toString());
    } catch (error) {
      await messages.send(`${JSON.stringify({ type: "ERROR", object: asStatusError(error).status })}\n`);
    }
    await messages.close();
  } catch {
    // The handshake was refused, or the client disconnected.
    socket.destroy();
  }
}
