import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { ClientSession } from "../../../src/cri/transport/client-session.js";
import type { ClientStream, StreamEnd } from "../../../src/cri/transport/client-stream.js";
import type { Fields } from "../../../src/cri/transport/hpack.js";

export const HEAD = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/x"],
  [":authority", "localhost"],
] as const;

/** A session over a real socket, ready for calls. `pieceBytes`: how much of what arrives is handed in at once. */
export async function openSession(port: number, pieceBytes = Number.POSITIVE_INFINITY) {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const lost: string[] = [];
  const session = await new Promise<ClientSession>((resolve, reject) => {
    const one: ClientSession = new ClientSession(
      socket,
      () => resolve(one),
      (why) => {
        lost.push(why);
        reject(new Error(why));
      },
    );
    socket.on("data", (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; at += pieceBytes) one.received(chunk.subarray(at, at + pieceBytes));
    });
  });
  return { session, lost, socket };
}

export interface Answer {
  readonly headers: Fields[];
  readonly body: Buffer;
  readonly end: StreamEnd;
  readonly handle: ClientStream;
}

/** One request, and all that came of it. */
export function ask(
  session: ClientSession,
  body = Buffer.alloc(0),
  onHandle?: (handle: ClientStream) => void,
): Promise<Answer> {
  return new Promise((resolve) => {
    const headers: Fields[] = [];
    const pieces: Buffer[] = [];
    const handle = session.request(HEAD, body, {
      headers: (fields) => headers.push(fields),
      data: (bytes, from, to) => pieces.push(Buffer.from(bytes.subarray(from, to))),
      closed: (end) => queueMicrotask(() => resolve({ headers, body: Buffer.concat(pieces), end, handle })),
    });
    onHandle?.(handle);
  });
}

/** A server that says exactly these bytes, in this order, once the preface is there. */
export async function scripted(script: (socket: Socket, received: Buffer[]) => void): Promise<number> {
  const server = createServer((socket) => {
    const received: Buffer[] = [];
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    socket.once("data", () => script(socket, received));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

export const EMPTY = Buffer.alloc(0);
export const STATUS_200 = Buffer.from([0x88]);
