import { chmod, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import type { Server, Socket } from "node:net";

const MAX_BODY_BYTES = 4096;

/** Serves on a Unix socket that only its owner can open, until the result is disposed of, which ends all connections. */
export async function listenPrivately(server: Server, socket: string): Promise<AsyncDisposable> {
  const connections = new Set<Socket>();
  server.on("connection", (one: Socket) => {
    connections.add(one);
    one.once("close", () => connections.delete(one));
  });
  await rm(socket, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket, resolve);
  });
  await chmod(socket, 0o600);
  const close = async () => {
    for (const one of connections) one.destroy();
    await new Promise((resolve) => server.close(resolve));
    await rm(socket, { force: true });
  };
  return { [Symbol.asyncDispose]: close };
}

/** The small JSON value that a client sent. @throws when it is too long, or no JSON */
export async function readSmallJson(message: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of message.setEncoding("utf8")) {
    text += chunk;
    if (text.length > MAX_BODY_BYTES) throw new Error("the operation is too long");
  }
  return JSON.parse(text);
}
