import type { IncomingMessage } from "node:http";
import { acceptWebSocket } from "../../../staging/streaming/websocket/accept.js";
import { MessageSocket } from "../../../staging/streaming/websocket/message-socket.js";
import { onAbort } from "../../../util/async/abort.js";
import type { Exchange, Upgrade } from "../endpoints/exchange.js";
import { hijack } from "../endpoints/hijack.js";
import type { ProxyDeps } from "./deps.js";

const BASE64 = "base64.binary.k8s.io";
const SUBPROTOCOLS = ["", "binary.k8s.io", BASE64];

/**
 * Sends a log as WebSocket messages, starting with an empty one and ending with a close frame.
 *
 * Mirrors k8s.io/apiserver/pkg/util/wsstream/stream.go (Reader). Data from the client is ignored.
 */
export async function streamLogMessages(
  { clock }: ProxyDeps,
  exchange: Exchange,
  upgrade: Upgrade,
  log: IncomingMessage,
  signal: AbortSignal,
): Promise<void> {
  const socket = hijack(exchange, upgrade);
  try {
    const { ws, subprotocol } = await acceptWebSocket(exchange.request, socket, upgrade.head, SUBPROTOCOLS);
    const taker = { take: () => {}, ended: () => log.destroy() };
    const messages = new MessageSocket(ws, taker, { clock }, { socket });
    using _ = onAbort(signal, () => messages.terminate("the server closes"));
    const encode = (bytes: Buffer) => (subprotocol === BASE64 ? bytes.toString("base64") : bytes);
    await messages.send(encode(Buffer.alloc(0)));
    for await (const bytes of log) await messages.send(encode(bytes as Buffer));
    await messages.close();
  } catch {
    // The client disconnected, or the kubelet broke off; the client then sees no close frame.
    socket.destroy();
  } finally {
    log.destroy();
  }
}
