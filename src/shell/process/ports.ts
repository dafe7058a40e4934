import { Pipe } from "./pipe.js";
import type { ByteSink, ByteSource } from "./streams.js";

/** One side of a connection. */
export interface Connection {
  readonly incoming: ByteSource;
  readonly outgoing: ByteSink;
}

/** Is handed each connection that is made. */
export type Listener = (connection: Connection) => void;

/** What listens on the TCP ports of a pod's network: only inside the runtime, no socket of the machine is opened. */
export class Ports {
  readonly #listeners = new Map<number, Listener>();

  /** @returns false when the port is taken */
  listen(port: number, listener: Listener): boolean {
    if (this.#listeners.has(port)) return false;
    this.#listeners.set(port, listener);
    return true;
  }

  close(port: number): void {
    this.#listeners.delete(port);
  }

  /** @returns the client's side; undefined when nobody listens: connection refused */
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

/** The pods' network: who has which address. */
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
