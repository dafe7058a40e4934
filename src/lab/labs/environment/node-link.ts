import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { checkOrigin } from "../../../util/net/origin-check.js";

/**
 * A node's link to the API server, which can be cut: then all its connections end, also new ones. A control API cuts
 * and mends it: `POST /cut`, `POST /mend`, without authentication, for programs on this machine.
 */
export class NodeLink implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server = createServer((socket) => this.#pass(socket));
  readonly #control = createHttpServer((request, response) => this.#answer(request, response));
  #isCut = false;

  private constructor(readonly to: URL) {}

  /** @param server of the API server: `https://127.0.0.1:6443` */
  static async open(server: string): Promise<NodeLink> {
    const link = new NodeLink(new URL(server));
    for (const one of [link.#server, link.#control]) {
      one.listen(0, "127.0.0.1");
      await once(one, "listening");
    }
    return link;
  }

  /** The address at which the node finds the API server. */
  get url(): string {
    return `https://127.0.0.1:${portOf(this.#server)}`;
  }

  get controlUrl(): string {
    return `http://127.0.0.1:${portOf(this.#control)}`;
  }

  #cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #pass(near: Socket): void {
    if (this.#isCut) return void near.destroy();
    const far = connect(Number(this.to.port), this.to.hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one);
      one.pipe(other);
      // A connection ends for both sides at once.
      one.on("error", () => other.destroy());
      one.on("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const isAllowed = checkOrigin(request, portOf(this.#control)) === undefined && request.method === "POST";
    const isKnown = isAllowed && (request.url === "/cut" || request.url === "/mend");
    if (isKnown && request.url === "/cut") this.#cut();
    else if (isKnown) this.#isCut = false;
    response.writeHead(isKnown ? 200 : 404).end(isKnown ? "" : "POST /cut or /mend\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cut();
    this.#control.closeAllConnections();
    await Promise.all([this.#server, this.#control].map((one) => new Promise<unknown>((done) => one.close(done))));
  }
}

function portOf(server: Pick<Server, "address">): number {
  return (server.address() as AddressInfo).port;
}
