import { Pipe } from "./pipe.js";
import type { ByteSink, ByteSource } from "./streams.js";

/** One side of a connection. */
export interface Connection {
  readonly incoming: ByteSource;
  readonly outgoing: ByteSink;
}

/** Receives each new connection. */
export type Listener = (connection: Connection) => void;

/**
 * The listeners on TCP ports of a pod's network. They exist only inside the runtime; no socket of the machine is
 * opened.
 */
export class Ports {
  readonly #listeners = new Map<number, Listener>();

  /** @returns false if the port is in use */
  listen(port: number, listener: Listener): boolean {
    if (this.#listeners.has(port)) return false;
    this.#listeners.set(port, listener);
    return true;
  }

  close(port: number): void {
    this.#listeners.delete(port);
  }

  /** @returns the client's side; undefined without a listener: connection refused */
  connect(port: number): Connection | undefined {
    const listener = this.#listeners.get(port);
    if (listener === undefined) return undefined;
    const toServer = new Pipe();
    const toClient = new Pipe();
    listener({ incoming: toServer.reader, outgoing: toClient.writer });
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
