import { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { StreamError } from "../bytes.js";
import { MessageSocket, type MessageSocketDeps, type MessageSocketOptions } from "./message-socket.js";

const UNSUPPORTED_DATA = 1003;

/**
 * A byte stream inside the binary messages of a WebSocket, whose boundaries do not matter: kubectl's port-forward since
 * 1.31 uses it for SPDY.
 *
 * Mirrors client-go/tools/portforward/tunneling_connection.go. Ending it closes the WebSocket: a tunnel has no
 * half-close.
 */
export function webSocketTunnel(ws: WebSocket, deps: MessageSocketDeps, options: MessageSocketOptions = {}): Duplex {
  const tunnel = new Duplex({
    read: () => socket.resume(),
    write: (bytes: Buffer, _encoding, done) => {
      socket.send(bytes).then(() => done(), done);
    },
    final: (done) => {
      socket.close().then(() => done(), done);
    },
    destroy: (error, done) => {
      socket.terminate("closed by this side");
      done(error);
    },
    // The last message can arrive before the last write finishes.
    allowHalfOpen: true,
  });
  const taker = {
    take(message: Buffer, isBinary: boolean): void {
      if (!isBinary) {
        void socket.close(UNSUPPORTED_DATA, "invalid message type received");
        tunnel.destroy(new StreamError("a message in the tunnel is not binary"));
      } else if (message.length > 0 && !tunnel.push(message)) {
        socket.pause();
      }
    },
    ended(error: StreamError | undefined): void {
      if (error === undefined) tunnel.push(null);
      else tunnel.destroy(error);
    },
  };
  const socket = new MessageSocket(ws, taker, deps, options);
  return tunnel;
}
