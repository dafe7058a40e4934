import { createServer, type Server, type Socket } from "node:net";
import { Option } from "commander";
import type { V1Pod } from "../../apimachinery/api/pod.js";
import { factFor } from "../../release/facts.js";
import { StreamError } from "../../streaming/bytes.js";
import { connectPortForward, type PortForwardProtocol } from "../../streaming/port-forward/connect.js";
import type { PortForwardClientSession } from "../../streaming/port-forward/session.js";
import { LabError } from "../../util/errors.js";
import { type Attempt, connectStreams, type StreamClient } from "./connect.js";
import { carry } from "./forwarded-connection.js";
import { frameObserver } from "./frames.js";
import { podPath } from "./pod.js";
import type { Forward } from "./ports.js";

export type ForwardFlag = PortForwardProtocol;

export interface ForwardRequest {
  readonly pod: V1Pod;
  /** of this machine */
  readonly address: string;
  readonly forwards: readonly Forward[];
  readonly protocol: ForwardFlag | undefined;
  /** the API server's; undefined: not known */
  readonly kubeVersion: string | undefined;
  readonly showsFrames: boolean;
}

/** As kubectl of the cluster's release. @param kubeVersion undefined: it is not known, and the newest is taken */
function protocolsOf(flag: ForwardFlag | undefined, kubeVersion: string | undefined): readonly PortForwardProtocol[] {
  if (flag !== undefined) return [flag];
  const isOld = kubeVersion !== undefined && !factFor("portForwardWebsockets", kubeVersion);
  return isOld ? ["spdy"] : ["tunnel", "spdy"];
}

export function forwardProtocolOption(): Option {
  const text =
    "tunnel (SPDY in a WebSocket) or spdy; default: as kubectl of that release, before 1.31 spdy, then tunnel, else spdy";
  return new Option("--protocol <name>", text).choices(["tunnel", "spdy"]);
}

/** A port of this machine that leads to one of the pod. */
export interface OpenForward {
  readonly address: string;
  readonly local: number;
  readonly remote: number;
}

/**
 * Listens, and carries each connection to the pod until `signal` aborts.
 * @param onListening called once, when there is somebody at every port
 *
 * Mirrors client-go/tools/portforward/portforward.go (ForwardPorts).
 * @throws LabError USAGE for a port that is taken, FAILED when the way to the pod is lost; the signal's reason
 */
export async function portForward(
  client: StreamClient,
  request: ForwardRequest,
  onListening: (opened: readonly OpenForward[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const { pod, forwards, address } = request;
  if (pod.status.phase !== "Running") {
    const hint = "Wait until it runs: kubectl get pod shows what it waits for.";
    const message = `unable to forward port because pod is not running. Current status=${pod.status.phase ?? ""}`;
    throw new LabError("FAILED", message, hint);
  }
  await using session = await connect(client, request, signal);
  const sockets = new Set<Socket>();
  const carrying = new Set<Promise<void>>();
  const servers: Server[] = [];
  const cause = client.trace.cause;
  try {
    const opened: OpenForward[] = [];
    for (const forward of forwards) {
      const server = createServer({ allowHalfOpen: true }, (socket) => {
        sockets.add(socket);
        socket.once("close", () => sockets.delete(socket));
        const done = carry(client.trace, session, socket, forward.remote, cause).finally(() => carrying.delete(done));
        carrying.add(done);
      });
      servers.push(server);
      opened.push({ address, local: await listen(server, address, forward.local), remote: forward.remote });
    }
    onListening(opened);
    await Promise.race([session.closed, aborted(signal)]);
    const hint = "The API server, the kubelet or the pod has ended: run the command again when it is back.";
    throw new LabError("FAILED", "lost connection to pod", hint);
  } finally {
    for (const server of servers) server.close();
    for (const socket of sockets) socket.destroy();
    await session.close();
    await Promise.allSettled(carrying);
  }
}

function connect(
  client: StreamClient,
  { pod, protocol, kubeVersion, showsFrames }: ForwardRequest,
  signal: AbortSignal,
): Promise<PortForwardClientSession> {
  const { clock, trace } = client;
  const observer = showsFrames ? { observer: frameObserver(trace, false) } : {};
  const attempts = protocolsOf(protocol, kubeVersion).map(
    (one): Attempt<PortForwardClientSession> => ({
      method: one === "spdy" ? "POST" : "GET",
      name: one === "spdy" ? "SPDY" : "SPDY inside a WebSocket",
      agreed: ({ protocol: { framing, subprotocol } }) =>
        one === "tunnel" ? `WebSocket, ${framing} inside, ${subprotocol}` : `${framing}, ${subprotocol}`,
      async connect({ url, headers, tls }) {
        const { session, refused } = await connectPortForward(
          url,
          { clock, protocols: [one], headers, tls, ...observer },
          signal,
        );
        if (session !== undefined) return { outcome: "connected", value: session };
        const [first] = refused;
        if (first === undefined) throw new StreamError("the server neither agreed nor refused");
        return first.refusal;
      },
    }),
  );
  return connectStreams(client, podPath(pod.metadata, "portforward"), attempts, signal).catch(explainTunnel);
}

/** An API server that knows no tunnels lets the kubelet answer, whose own WebSockets for ports are of another kind. */
function explainTunnel(error: unknown): never {
  if (!(error instanceof LabError) || !error.message.includes('query parameter "port" is required')) throw error;
  const hint = "Use --protocol spdy; tunnel needs an API server of 1.31 or newer (--kube-version 1.31).";
  throw new LabError(error.code, error.message, hint, { cause: error });
}

function listen(server: Server, address: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "the port is taken" : cause.message;
      const isAddress = cause.code === "EADDRNOTAVAIL" || cause.syscall === "getaddrinfo";
      const hint = isAddress
        ? "Name an address of this machine: --address 127.0.0.1"
        : "Name another local port, or none for any: :80";
      reject(new LabError("USAGE", `unable to listen on ${address}:${port}: ${why}`, hint, { cause }));
    });
    server.listen(port, address, () => {
      const bound = server.address();
      resolve(typeof bound === "object" && bound !== null ? bound.port : port);
    });
  });
}

/** @throws the signal's reason */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
