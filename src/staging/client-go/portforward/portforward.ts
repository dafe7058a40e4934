import { createServer, type Server, type Socket } from "node:net";
import { orAborted } from "../../../util/async/concurrency.js";
import { LabError } from "../../../util/errors.js";
import { listenProblem } from "../../../util/net/listen-problem.js";
import type { PortForwardClientSession } from "../../streaming/port-forward/session.js";
import { type Attempt, type ConnectedStreams, connectStreams, type StreamClient } from "../transport/fallback.js";
import { frameObserver } from "../transport/frames.js";
import { carry } from "./connection.js";
import { connectPortForward, type PortForwardProtocol } from "./dialer.js";
import type { ForwardedPort } from "./ports.js";

export interface PortForwardRequest {
  /** of the pod's portforward subresource */
  readonly path: string;
  /** local addresses to listen on: of each group one at least */
  readonly addresses: readonly (readonly string[])[];
  readonly ports: readonly ForwardedPort[];
  /** tried in order, until one is accepted */
  readonly protocols: readonly PortForwardProtocol[];
  readonly showsFrames: boolean;
}

/** A local port that leads to a port of the pod. */
export interface ListeningPort extends ForwardedPort {
  readonly address: string;
}

/**
 * Listens, and carries each connection to the pod until `signal` aborts.
 *
 * Mirrors client-go/tools/portforward/portforward.go (ForwardPorts).
 *
 * @param onListening called once, when all ports listen
 * @throws LabError USAGE if a port is taken, FAILED if the connection to the pod is lost; the signal's reason
 */
export async function forwardPorts(
  client: StreamClient,
  request: PortForwardRequest,
  onListening: (listening: readonly ListeningPort[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const { ports, addresses } = request;
  const connected = await dial(client, request, signal);
  await using session = connected.session;
  const sockets = new Set<Socket>();
  const carrying = new Set<Promise<void>>();
  const servers: Server[] = [];
  const cause = connected.cause.causedBy ?? client.trace.cause;
  try {
    const listening: ListeningPort[] = [];
    for (const { local: wanted, remote } of ports) {
      // The other addresses get the free port of the first one.
      let local = wanted;
      for (const group of addresses) {
        const errors: unknown[] = [];
        for (const address of group) {
          const server = createServer({ allowHalfOpen: true }, (socket) => {
            sockets.add(socket);
            socket.once("close", () => sockets.delete(socket));
            const done = carry(client.trace, session, socket, remote, cause).finally(() => carrying.delete(done));
            carrying.add(done);
          });
          servers.push(server);
          try {
            local = await listen(server, address, local);
            listening.push({ address, local, remote });
          } catch (error) {
            errors.push(error);
          }
        }
        if (errors.length === group.length) throw errors[0];
      }
    }
    onListening(listening);
    await orAborted(session.closed, signal);
    const hint = "The API server, the kubelet or the pod has ended: run the command again when it is back.";
    throw new LabError("FAILED", "lost connection to pod", hint);
  } finally {
    for (const server of servers) server.close();
    for (const socket of sockets) socket.destroy();
    await session.close();
    await Promise.allSettled(carrying);
  }
}

/** Mirrors client-go/tools/portforward/fallback_dialer.go (Dial). */
function dial(
  client: StreamClient,
  { path, protocols, showsFrames }: PortForwardRequest,
  signal: AbortSignal,
): Promise<ConnectedStreams<PortForwardClientSession>> {
  const { clock, trace } = client;
  const observerOf = () => (showsFrames ? frameObserver(trace, false) : undefined);
  const attempts = protocols.map(
    (protocol): Attempt<PortForwardClientSession> => ({
      method: protocol === "spdy" ? "POST" : "GET",
      name: protocol === "spdy" ? "SPDY" : "SPDY inside a WebSocket",
      agreed: ({ protocol: { framing, subprotocol } }) =>
        protocol === "tunnel" ? `WebSocket, ${framing} inside, ${subprotocol}` : `${framing}, ${subprotocol}`,
      connect: ({ url, ...dialing }) =>
        connectPortForward(url, { ...dialing, clock, protocol, observer: observerOf() }, signal),
    }),
  );
  return connectStreams(client, path, attempts, signal).catch(explainTunnel);
}

/** An API server without tunnels passes the request to the kubelet, whose own WebSocket port-forward needs a parameter. */
function explainTunnel(error: unknown): never {
  if (!(error instanceof LabError) || !error.message.includes('query parameter "port" is required')) throw error;
  const hint = "Use --protocol spdy; tunnel needs an API server of 1.31 or newer (--kube-version 1.31).";
  throw new LabError(error.code, error.message, hint, { cause: error });
}

function listen(server: Server, address: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const isAddress = cause.code === "EADDRNOTAVAIL" || cause.syscall === "getaddrinfo";
      const hint = isAddress
        ? "Use an address of this machine: --address 127.0.0.1"
        : "Use another local port, or :80 for any free one.";
      reject(new LabError("USAGE", `unable to listen on ${address}:${port}: ${listenProblem(cause)}`, hint, { cause }));
    });
    server.listen(port, address, () => {
      const bound = server.address();
      resolve(typeof bound === "object" && bound !== null ? bound.port : port);
    });
  });
}
