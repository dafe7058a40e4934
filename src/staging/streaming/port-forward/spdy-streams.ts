import { readBounded } from "../read-bounded.js";
import type { SpdyStream } from "../spdy/stream.js";
import type { ForwardedConnection, PortForwardServerSession } from "./session.js";

/** Mirrors client-go/tools/portforward/portforward.go (PortForwardProtocolV1Name). */
export const PORT_FORWARD_PROTOCOL = "portforward.k8s.io";
export const SPDY_PORT_FORWARD: PortForwardServerSession["protocol"] = {
  framing: "SPDY",
  subprotocol: PORT_FORWARD_PROTOCOL,
};

const MAX_ERROR_BYTES = 64 * 1024;

/** The two streams of one forwarded connection: bytes, and an error message. */
export interface StreamPair {
  readonly data: SpdyStream;
  readonly error: SpdyStream;
}

/** The server's side. */
export function serverConnection({ data, error }: StreamPair, port: number): ForwardedConnection {
  // A client sends nothing on it, and closes its side at once.
  error.inbox.drop();
  return {
    port,
    incoming: data.incoming,
    write: (bytes) => data.write(bytes),
    async end() {
      await data.end();
      // Older clients wait for this end before they close their side.
      await error.end();
    },
    async fail(message) {
      data.inbox.drop();
      try {
        await data.end();
        await error.write(Buffer.from(message));
        await error.end();
      } catch {
        // The client is gone.
      }
    },
    failure: data.closed.then(() => undefined),
    async close() {
      data.reset();
      error.reset();
    },
  };
}

/** The client's side: both streams are open, and our half of the error stream is closed. */
export function clientConnection({ data, error }: StreamPair, port: number): ForwardedConnection {
  const failure = readBounded(error.incoming, MAX_ERROR_BYTES).then(({ bytes }) =>
    bytes.length > 0 ? bytes.toString() : undefined,
  );
  return {
    port,
    incoming: data.incoming,
    write: (bytes) => data.write(bytes),
    end: () => data.end(),
    fail: async () => data.reset(),
    failure,
    async close() {
      data.reset();
      error.reset();
    },
  };
}
