import { NetError } from "../../../util/net/net-error.js";
import type { ByteSink, ByteSource } from "../streams.js";
import { Pipe } from "./pipe.js";

/** An IPv4 address and a port. */
export interface SocketAddress {
  readonly ip: string;
  readonly port: number;
}

/** One side of a connection. */
export interface Connection {
  readonly incoming: ByteSource;
  readonly outgoing: ByteSink;
  /** the other side, as this side sees it */
  readonly peer: SocketAddress;
  /** this side's own address; undefined if it is not in a network of the runtime */
  readonly local?: SocketAddress;
}

/** A socket as netstat lists it. */
export interface OpenSocket {
  readonly protocol: "tcp" | "udp";
  readonly local: SocketAddress;
  /** undefined: it listens */
  readonly peer?: SocketAddress;
  /** its process; undefined for the kubelet's */
  readonly owner?: { readonly pid: number; readonly argv: readonly string[]; readonly machine: object };
}

/** Receives each new connection. */
export type Listener = (connection: Connection) => void;

/** Answers a datagram; undefined: sends nothing back. */
export type DatagramListener = (bytes: Buffer, from: SocketAddress) => Promise<Buffer | undefined> | Buffer | undefined;

/** A listener on all addresses of the network. */
export const ANY = "0.0.0.0";

/** The limit of open connections of a network's listeners: a server's limit of open files on a usual node. */
const MAX_CONNECTIONS = 1_024;

/** The listeners of one protocol, by port and address. */
class Bindings<L> {
  readonly #byPort = new Map<number, Map<string, L>>();

  /** @returns false if the port is in use, at this address or at all */
  add(port: number, address: string, listener: L): boolean {
    const bound = this.#byPort.get(port) ?? new Map<string, L>();
    if (bound.has(address) || (bound.size > 0 && (address === ANY || bound.has(ANY)))) return false;
    this.#byPort.set(port, bound.set(address, listener));
    return true;
  }

  delete(port: number, address: string): void {
    const bound = this.#byPort.get(port);
    bound?.delete(address);
    if (bound?.size === 0) this.#byPort.delete(port);
  }

  find({ ip, port }: SocketAddress): L | undefined {
    const bound = this.#byPort.get(port);
    return bound?.get(ip) ?? bound?.get(ANY);
  }

  ports(): readonly number[] {
    return [...this.#byPort.keys()].sort((a, b) => a - b);
  }

  addresses(): readonly SocketAddress[] {
    return [...this.#byPort].flatMap(([port, bound]) => [...bound.keys()].map((ip) => ({ ip, port })));
  }
}

/**
 * The listeners on the ports of one network: a pod's, or the node's own. They exist only inside the runtime; no socket of
 * the machine is opened.
 */
export class Ports {
  readonly #tcp = new Bindings<Listener>();
  readonly #udp = new Bindings<DatagramListener>();
  /** called after a listener was added or removed */
  onChange: () => void = () => {};
  readonly #open = new Set<OpenSocket>();
  #openCount = 0;

  /** The sockets of the network's processes: listeners first. */
  get sockets(): readonly OpenSocket[] {
    return [...this.#open].sort((a, b) => Number(a.peer !== undefined) - Number(b.peer !== undefined));
  }

  /** Lists a socket. @returns a function that removes it */
  track(socket: OpenSocket): () => void {
    this.#open.add(socket);
    return () => this.#open.delete(socket);
  }

  /** @param address default: all addresses @returns false if the UDP port is in use */
  listenUdp(port: number, listener: DatagramListener, address = ANY): boolean {
    const isFree = this.#udp.add(port, address, listener);
    if (isFree) this.onChange();
    return isFree;
  }

  closeUdp(port: number, address = ANY): void {
    this.#udp.delete(port, address);
    this.onChange();
  }

  /**
   * Delivers a datagram. @returns the answer; undefined without one
   * @throws NetError ECONNREFUSED if nothing listens there
   */
  async datagram(to: SocketAddress, bytes: Buffer, from: SocketAddress): Promise<Buffer | undefined> {
    const listener = this.#udp.find(to);
    if (listener === undefined) throw new NetError("ECONNREFUSED");
    return listener(bytes, from);
  }

  /** @param address default: all addresses @returns false if the port is in use */
  listen(port: number, listener: Listener, address = ANY): boolean {
    const isFree = this.#tcp.add(port, address, listener);
    if (isFree) this.onChange();
    return isFree;
  }

  close(port: number, address = ANY): void {
    this.#tcp.delete(port, address);
    this.onChange();
  }

  /**
   * @returns the client's side; undefined while the listeners have as many connections as they take: the kernel then
   * drops what a client sends
   * @throws NetError ECONNREFUSED if nothing listens there
   */
  connect(to: SocketAddress, from: SocketAddress): Connection | undefined {
    const listener = this.#tcp.find(to);
    if (listener === undefined) throw new NetError("ECONNREFUSED");
    if (this.#openCount >= MAX_CONNECTIONS) return undefined;
    this.#openCount++;
    let directions = 2;
    const ended = () => {
      directions--;
      if (directions === 0) this.#openCount--;
    };
    const toServer = new Pipe(undefined, ended);
    const toClient = new Pipe(undefined, ended);
    listener({ incoming: toServer.reader, outgoing: toClient.writer, peer: from, local: to });
    return { incoming: toClient.reader, outgoing: toServer.writer, peer: to };
  }

  /** The addresses of the listeners; `0.0.0.0`: all addresses. */
  bound(protocol: "tcp" | "udp"): readonly SocketAddress[] {
    return (protocol === "tcp" ? this.#tcp : this.#udp).addresses();
  }

  /** The TCP ports with a listener. */
  list(): readonly number[] {
    return this.#tcp.ports();
  }
}
