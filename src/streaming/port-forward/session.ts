import type { ByteDuplex } from "../bytes.js";

/** One connection to a port of a pod. */
export interface ForwardedConnection extends ByteDuplex {
  /** of the pod */
  readonly port: number;
  /** Server: tells the client what went wrong, on the error stream, and ends this connection. */
  fail(message: string): Promise<void>;
  /** What the other side said went wrong; resolves with undefined when the connection ended without such words. */
  readonly failure: Promise<string | undefined>;
  /** Ends both directions at once. Safe to call twice. */
  close(): Promise<void>;
}

/** A port-forward as the side that has the pod sees it. */
export interface PortForwardServerSession extends AsyncDisposable {
  /** `SPDY` or `WebSocket`, and the subprotocol: `portforward.k8s.io`, `v4.channel.k8s.io`, ... */
  readonly protocol: { readonly framing: "SPDY" | "WebSocket"; readonly subprotocol: string };
  /** each connection that the client opens; ends when the client is gone or was idle for too long */
  readonly connections: AsyncIterable<ForwardedConnection>;
  readonly signal: AbortSignal;
  close(): Promise<void>;
}

/** A port-forward as the side that listens on this machine sees it. */
export interface PortForwardClientSession extends AsyncDisposable {
  readonly protocol: { readonly framing: "SPDY" | "WebSocket"; readonly subprotocol: string };
  /** @throws StreamError when the connection to the server is gone */
  connect(port: number): Promise<ForwardedConnection>;
  /** Resolves (never rejects) when the connection to the server has ended. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}
