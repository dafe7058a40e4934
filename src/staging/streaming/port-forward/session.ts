import type { ByteDuplex } from "../bytes.js";

/** One connection to a port of a pod. */
export interface ForwardedConnection extends ByteDuplex {
  /** the pod's port */
  readonly port: number;
  /** Server: reports an error to the client on the error stream, and ends this connection. */
  fail(message: string): Promise<void>;
  /** The other side's error message; undefined if the connection closed without one. */
  readonly failure: Promise<string | undefined>;
  /** Ends both directions at once. Safe to call twice. */
  close(): Promise<void>;
}

/** A port-forward on the side of the pod. */
export interface PortForwardServerSession extends AsyncDisposable {
  /** `SPDY` or `WebSocket`, and the subprotocol: `portforward.k8s.io`, `v4.channel.k8s.io`, ... */
  readonly protocol: { readonly framing: "SPDY" | "WebSocket"; readonly subprotocol: string };
  /** the connections that the client opens; ends when the client is gone or was idle for too long */
  readonly connections: AsyncIterable<ForwardedConnection>;
  readonly signal: AbortSignal;
  close(): Promise<void>;
}

/** A port-forward on the listening side. */
export interface PortForwardClientSession extends AsyncDisposable {
  readonly protocol: { readonly framing: "SPDY" | "WebSocket"; readonly subprotocol: string };
  /** @throws StreamError if the connection to the server is gone */
  connect(port: number): Promise<ForwardedConnection>;
  /** Resolves (never rejects) when the connection to the server has ended. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}
