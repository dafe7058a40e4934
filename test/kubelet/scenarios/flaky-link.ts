import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A cable between a kubelet and its API server, which can be pulled. */
export class FlakyLink {
  readonly #sockets = new Set<Socket>();
  #isUp = true;

  private constructor(
    readonly server: Server,
    readonly toPort: number,
  ) {
    server.on("connection", (socket) => this.#join(socket));
  }

  /** @param url what it leads to: `https://127.0.0.1:6443` */
  static async open(url: string): Promise<FlakyLink> {
    const server = createServer({ allowHalfOpen: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new FlakyLink(server, Number(new URL(url).port));
  }

  get url(): string {
    return `https://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Ends all connections, watches too; new ones are taken. */
  breakConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Nothing gets through any more. */
  cut(): void {
    this.#isUp = false;
    this.breakConnections();
  }

  mend(): void {
    this.#isUp = true;
  }

  #join(client: Socket): void {
    if (!this.#isUp) {
      client.destroy();
      return;
    }
    const upstream = connect({ port: this.toPort, host: "127.0.0.1", allowHalfOpen: true });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(from);
      from.on("error", () => {});
      from.once("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }

  async close(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, "close");
  }
}
