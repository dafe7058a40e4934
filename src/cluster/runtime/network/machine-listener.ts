import { createSocket, type RemoteInfo } from "node:dgram";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { duplexOf } from "../../shell/process/duplex.js";
import type { Connection, SocketAddress } from "../../shell/process/ports.js";
import { relay } from "./relay.js";

/** A port of this machine's loopback interface that leads into a node's network. */
export interface MachinePort {
  readonly protocol: "tcp" | "udp";
  /** `127.0.0.1` */
  readonly ip: string;
  readonly port: number;
  /** its target */
  readonly to: SocketAddress;
  /** for people: `host port of default/web` */
  readonly purpose: string;
}

/** Carries connections and datagrams into the node's network. */
export interface Inwards {
  connect(from: SocketAddress, to: SocketAddress, signal: AbortSignal): Promise<Connection>;
  exchange(from: SocketAddress, to: SocketAddress, bytes: Buffer, signal: AbortSignal): Promise<Buffer | undefined>;
}

/** This machine's address in the network of nodes. Nodes begin after it. */
const MACHINE_ADDRESS = "10.240.0.1";
const MAX_CONNECTIONS = 1_024;
/** The limit of datagrams per port that await an answer. Further ones are dropped. */
const MAX_DATAGRAMS = 256;

/** @returns a function that closes the port and its connections @throws the error of Node.js: EADDRINUSE, EACCES */
export function listenOnMachine(port: MachinePort, inwards: Inwards): Promise<() => void> {
  return port.protocol === "tcp" ? listenTcp(port, inwards) : listenUdp(port, inwards);
}

async function listenTcp({ ip, port, to }: MachinePort, inwards: Inwards): Promise<() => void> {
  const closing = new AbortController();
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    void carry(socket, to, inwards, closing.signal);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen({ host: ip, port });
  await once(server, "listening");
  return () => {
    closing.abort();
    for (const socket of open) socket.destroy();
    server.close();
  };
}

async function carry(socket: Socket, to: SocketAddress, inwards: Inwards, signal: AbortSignal): Promise<void> {
  const gone = new AbortController();
  socket.once("close", () => gone.abort());
  const either = AbortSignal.any([signal, gone.signal]);
  try {
    const from = { ip: MACHINE_ADDRESS, port: socket.remotePort ?? 0 };
    relay(socket, duplexOf(await inwards.connect(from, to, either), signal));
  } catch {
    // This machine has already accepted the connection, so breaking it is the closest to a refusal.
    socket.resetAndDestroy();
  }
}

async function listenUdp({ ip, port, to }: MachinePort, inwards: Inwards): Promise<() => void> {
  const closing = new AbortController();
  const socket = createSocket("udp4");
  let waiting = 0;
  const deliver = async (bytes: Buffer, sender: RemoteInfo) => {
    if (waiting >= MAX_DATAGRAMS) return;
    waiting++;
    try {
      const from = { ip: MACHINE_ADDRESS, port: sender.port };
      const answer = await inwards.exchange(from, to, bytes, closing.signal);
      if (answer !== undefined && !closing.signal.aborted) socket.send(answer, sender.port, sender.address);
    } catch {
      // A datagram can get lost.
    } finally {
      waiting--;
    }
  };
  socket.on("message", (bytes, sender) => void deliver(bytes, sender));
  socket.bind({ address: ip, port, exclusive: true });
  await once(socket, "listening");
  socket.on("error", () => {});
  return () => {
    closing.abort();
    socket.close();
  };
}
