import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { checkOrigin } from "../../../util/net/origin-check.js";

/** How a link is cut. `refuse`: connections end, new ones too. `drop`: nothing passes in either direction, and neither side is told. */
export const CUTS = ["drop", "refuse"] as const;

/**
 * A node's link to the API server, which can be cut. A control API cuts it with `refuse` and mends it: `POST /cut`, `POST /mend`,
 * without authentication, for programs on this machine.
 */
export class NodeLink implements AsyncDisposable {
  /** both ends of each connection; the far one is missing while the link drops everything */
  readonly #connections = new Map<Socket, Socket | undefined>();
  readonly #server: Server = createServer((socket) => this.#accept(socket));
  readonly #control = createHttpServer((request, response) => this.#answer(request, response));
  #cut: (typeof CUTS)[number] | undefined;

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

  cut(how: (typeof CUTS)[number]): void {
    this.#cut = how;
    for (const [near, far] of this.#connections) {
      if (how === "refuse") this.#end(near);
      else for (const socket of [near, far]) socket?.unpipe().pause();
    }
  }

  /** Lets connections pass again: also those that waited, as TCP repeats what was lost. */
  mend(): void {
    this.#cut = undefined;
    for (const [near, far] of this.#connections) this.#join(near, far);
  }

  #accept(near: Socket): void {
    if (this.#cut === "refuse") return void near.destroy();
    near.on("error", () => near.destroy());
    near.on("close", () => {
      // A node behind a link that drops everything cannot end its connections at the server.
      if (this.#cut !== "drop") this.#end(near);
    });
    this.#connections.set(near, undefined);
    if (this.#cut === undefined) this.#join(near, undefined);
  }

  #join(near: Socket, connected: Socket | undefined): void {
    if (near.destroyed || connected?.destroyed === true) return void this.#end(near);
    const far = connected ?? connect(Number(this.to.port), this.to.hostname);
    if (connected === undefined) {
      this.#connections.set(near, far);
      far.on("error", () => far.destroy());
      far.on("close", () => {
        if (this.#cut !== "drop") this.#end(near);
      });
    }
    near.pipe(far);
    far.pipe(near);
  }

  /** A connection ends for both sides at once. */
  #end(near: Socket): void {
    this.#connections.get(near)?.destroy();
    near.destroy();
    this.#connections.delete(near);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const isAllowed = checkOrigin(request, portOf(this.#control)) === undefined && request.method === "POST";
    const isKnown = isAllowed && (request.url === "/cut" || request.url === "/mend");
    if (isKnown && request.url === "/cut") this.cut("refuse");
    else if (isKnown) this.mend();
    response.writeHead(isKnown ? 200 : 404).end(isKnown ? "" : "POST /cut or /mend\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut("refuse");
    this.#control.closeAllConnections();
    await Promise.all([this.#server, this.#control].map((one) => new Promise<unknown>((done) => one.close(done))));
  }
}

function portOf(server: Pick<Server, "address">): number {
  return (server.address() as AddressInfo).port;
}
