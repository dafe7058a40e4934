import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";

/** Passes connections on to a port of 127.0.0.1 until it is cut: a network that fails while both ends run. */
export class TcpProxy {
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(readonly server: Server) {}

  static async open(port: number): Promise<TcpProxy> {
    const proxy: TcpProxy = new TcpProxy(createServer((client) => proxy.#pass(client, port)));
    proxy.server.listen(0, "127.0.0.1");
    await once(proxy.server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Ends all connections, and accepts none until `mend`. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, "close");
  }

  #pass(client: Socket, port: number): void {
    if (this.#isCut) return void client.destroy();
    const target = connect(port, "127.0.0.1");
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.pipe(other);
      // A connection ends for both sides at once.
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  }
}
