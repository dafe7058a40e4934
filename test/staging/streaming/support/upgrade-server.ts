import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";

/** A plain HTTP server on loopback that passes every upgrade to the test. */
export interface UpgradeServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  /** open connections */
  readonly sockets: ReadonlySet<Socket>;
}

export async function startUpgradeServer(
  accept: (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>,
): Promise<UpgradeServer> {
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(404).end());
  const running = new Set<Promise<void>>();
  server.on("upgrade", (request, socket, head) => {
    const one = accept(request, socket, head).finally(() => running.delete(one));
    running.add(one);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await Promise.all(running);
    },
  };
}

/** Everything from a reader, as text. */
export async function textOf(reader: AsyncIterable<Uint8Array> | undefined): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of reader ?? []) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** A promise that the test settles. */
export function deferred<T>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let settle: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    settle = resolve;
  });
  return { promise, resolve: (value) => settle(value) };
}
