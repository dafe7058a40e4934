import { createServer, type ListenOptions, type Socket } from "node:net";
import { bindUnix } from "../../../staging/cri/grpc/listen.js";
import {
  type PodNetworkAnswer,
  type PodNetworkRequest,
  parseLine,
  readHead,
} from "../../../staging/streaming/pod-network.js";
import type { Clock } from "../../../util/clock.js";
import { NetError } from "../../../util/net/net-error.js";
import { duplexOf } from "../../shell/process/duplex.js";
import type { SocketAddress } from "../../shell/process/ports.js";
import type { NodeNetwork } from "./node-network.js";
import { relay } from "./relay.js";

/** The limit of concurrent connections from other processes. The kernel refuses further ones. */
const MAX_CONNECTIONS = 4_096;
/** How long a client may take for its first line. */
const HEAD_TIMEOUT_MS = 10_000;

/** The socket through which other nodes and this node's kubelet reach the network. */
export interface NetworkServer {
  close(): Promise<void>;
}

/**
 * Serves the network of a runtime at a Unix socket that only its user can open.
 * @throws LabError BAD_FILE
 */
export async function serveNetwork(network: NodeNetwork, path: string, clock: Clock): Promise<NetworkServer> {
  const closing = new AbortController();
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => {});
    serve(network, socket, clock, closing.signal).catch(() => socket.destroy());
  });
  server.maxConnections = MAX_CONNECTIONS;
  const listen = (address: ListenOptions) =>
    new Promise<number>((resolve, reject) => {
      server.once("error", reject);
      server.listen(address, () => {
        server.off("error", reject);
        resolve(0);
      });
    });
  const bound = await bindUnix({ kind: "unix", path, url: `unix://${path}` }, listen);
  return {
    close: async () => {
      closing.abort();
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await bound.remove();
    },
  };
}

async function serve(network: NodeNetwork, socket: Socket, clock: Clock, signal: AbortSignal): Promise<void> {
  const timer = clock.timer(HEAD_TIMEOUT_MS, () => socket.destroy());
  const request = parseLine(await readHead(socket)) as unknown as PodNetworkRequest;
  timer.stop();
  const gone = new AbortController();
  socket.once("close", () => gone.abort());
  const either = AbortSignal.any([signal, gone.signal]);
  const answer = (given: PodNetworkAnswer) => socket.write(`${JSON.stringify(given)}\n`);
  try {
    if (request.protocol === "rules") {
      answer({});
      socket.end(JSON.stringify(network.nat.table));
      return;
    }
    if (request.protocol !== "tcp") {
      answer(await deliver(network, request, either));
      socket.end();
      return;
    }
    const connection = await open(network, request, either);
    answer({});
    if (request.from !== undefined) network.addPeerStream(socket);
    relay(socket, duplexOf(connection, signal));
  } catch (error) {
    if (!(error instanceof NetError)) throw error;
    answer({ errno: error.code });
    socket.end();
  }
}

type PacketRequest = Exclude<PodNetworkRequest, { readonly protocol: "rules" }>;

function open(network: NodeNetwork, request: PacketRequest, signal: AbortSignal) {
  const to = parseAddress(request.to);
  if (request.from === undefined) return network.host.connect(to, signal);
  return network.forward({ protocol: "tcp", from: parseAddress(request.from), to, ttl: request.ttl ?? 0 }, signal);
}

async function deliver(network: NodeNetwork, request: PacketRequest, signal: AbortSignal): Promise<PodNetworkAnswer> {
  const to = parseAddress(request.to);
  const bytes = Buffer.from(request.payload ?? "", "base64");
  const { ttl = 0 } = request;
  if (request.protocol === "tcp") throw new Error("a TCP connection is no datagram");
  const answered =
    request.from === undefined
      ? await network.host.sendDatagram(to, bytes, signal)
      : await network.deliver({ protocol: request.protocol, from: parseAddress(request.from), to, ttl }, bytes, signal);
  return answered === undefined ? {} : { payload: answered.toString("base64") };
}

/** @throws Error for anything but `10.244.0.5:80` */
function parseAddress(text: string): SocketAddress {
  const [, ip = "", port] = /^(\d+\.\d+\.\d+\.\d+):(\d{1,5})$/.exec(text) ?? [];
  if (port === undefined || Number(port) > 65_535) throw new Error(`${JSON.stringify(text)} is not IP:PORT`);
  return { ip, port: Number(port) };
}
