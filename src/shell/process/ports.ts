import { Pipe } from "./pipe.js";
import type { ByteSink, ByteSource } from "./streams.js";

/** One side of a connection. */
export interface Connection {
  readonly incoming: ByteSource;
  readonly outgoing: ByteSink;
  /** the client's address, for the server's side */
  readonly peer?: string;
}

/** Receives each new connection. */
export type Listener = (connection: Connection) => void;

/** Answers a datagram; undefined: sends nothing back. */
export type DatagramListener = (bytes: Buffer, peer: string) => Buffer | undefined;

const LOOPBACK = "127.0.0.1";
/** The port that a server sees as a client's: the first of Linux's ephemeral ones. */
const CLIENT_PORT = 32_768;

/**
 * The listeners on TCP ports of a pod's network. They exist only inside the runtime; no socket of the machine is
 * opened.
 */
export class Ports {
  readonly #listeners = new Map<number, Listener>();
  readonly #datagrams = new Map<number, DatagramListener>();

  /** @returns false if the UDP port is in use */
  listenUdp(port: number, listener: DatagramListener): boolean {
    if (this.#datagrams.has(port)) return false;
    this.#datagrams.set(port, listener);
    return true;
  }

  closeUdp(port: number): void {
    this.#datagrams.delete(port);
  }

  /** Sends a datagram. @param from the client's address @returns the answer; undefined without one */
  datagram(port: number, bytes: Buffer, from = LOOPBACK): Buffer | undefined {
    return this.#datagrams.get(port)?.(bytes, `${from}:${CLIENT_PORT}`);
  }

  /** @returns false if the port is in use */
  listen(port: number, listener: Listener): boolean {
    if (this.#listeners.has(port)) return false;
    this.#listeners.set(port, listener);
    return true;
  }

  close(port: number): void {
    this.#listeners.delete(port);
  }

  /**
   * @param peer the client's address
   * @returns the client's side; undefined without a listener: connection refused
   */
  connect(port: number, peer = LOOPBACK): Connection | undefined {
    const listener = this.#listeners.get(port);
    if (listener === undefined) return undefined;
    const toServer = new Pipe();
    const toClient = new Pipe();
    listener({ incoming: toServer.reader, outgoing: toClient.writer, peer });
    return { incoming: toClient.reader, outgoing: toServer.writer };
  }

  list(): readonly number[] {
    return [...this.#listeners.keys()].sort((a, b) => a - b);
  }
}

/** The pod network: which pod has which address. */
export class Network {
  readonly #portsOf = new Map<string, Ports>();

  add(ip: string, ports: Ports): void {
    this.#portsOf.set(ip, ports);
  }

  delete(ip: string): void {
    this.#portsOf.delete(ip);
  }

  find(ip: string): Ports | undefined {
    return this.#portsOf.get(ip);
  }
}
