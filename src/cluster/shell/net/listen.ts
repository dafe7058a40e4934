import { onAbort } from "../../../util/async/abort.js";
import { effectiveCapabilities } from "../process/confinement.js";
import { ownedConnection } from "../process/owned-connection.js";
import { ANY, type Connection, type DatagramListener, type Listener } from "../process/ports.js";
import type { Self } from "../process/process.js";

/** A listening socket of a process. */
export interface Listening {
  /** Safe to call twice. */
  close(): void;
}

/** Why a process cannot listen on a port. */
export type BindErrno = "EACCES" | "EADDRINUSE";

/** @returns strerror's text: `Permission denied` */
export function bindErrorText(errno: BindErrno): string {
  return errno === "EACCES" ? "Permission denied" : "Address already in use";
}

const FIRST_FREE_PORT = "net.ipv4.ip_unprivileged_port_start";
const DEFAULT_FIRST_FREE_PORT = 1024;

/** Mirrors inet_port_requires_bind_service and inet_bind in Linux's net/ipv4/af_inet.c. */
function mayBind({ machine: { confinement, user } }: Self, port: number): boolean {
  const first = Number(confinement.sysctls[FIRST_FREE_PORT] ?? DEFAULT_FIRST_FREE_PORT);
  return port >= first || effectiveCapabilities(user.uid, confinement).has("NET_BIND_SERVICE");
}

/**
 * Listens on a TCP port until it is closed, or the process ends, which also ends the connections.
 * @param address default: all addresses
 */
export function listenTcp(self: Self, port: number, accept: Listener, address?: string): Listening | BindErrno {
  if (!mayBind(self, port)) return "EACCES";
  const { ports } = self.machine.network;
  const socket = { protocol: "tcp", local: { ip: address ?? ANY, port }, owner: self } as const;
  const take = (connection: Connection) => {
    const { peer, local = socket.local } = connection;
    accept({ ...ownedConnection(connection, self.signal, ports.track({ ...socket, local, peer })), local });
  };
  if (!ports.listen(port, take, address)) return "EADDRINUSE";
  const untrack = ports.track(socket);
  return closing(self, () => {
    untrack();
    ports.close(port, address);
  });
}

/** Answers datagrams at a UDP port of all addresses until it is closed, or the process ends. */
export function listenUdp(self: Self, port: number, answer: DatagramListener): Listening | BindErrno {
  if (!mayBind(self, port)) return "EACCES";
  const { ports } = self.machine.network;
  if (!ports.listenUdp(port, answer)) return "EADDRINUSE";
  const untrack = ports.track({ protocol: "udp", local: { ip: ANY, port }, owner: self });
  return closing(self, () => {
    untrack();
    ports.closeUdp(port);
  });
}

function closing(self: Self, end: () => void): Listening {
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    link?.[Symbol.dispose]();
    end();
  };
  let link: Disposable | undefined;
  link = onAbort(self.signal, close);
  return { close };
}
