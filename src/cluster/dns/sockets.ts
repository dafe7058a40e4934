import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { onAbort } from "../../util/async/abort.js";

const HOST = "127.0.0.1";
/** The longest useful query, because a name has at most 255 bytes. */
const MAX_DATAGRAM_BYTES = 4_096;
const MAX_CONNECTIONS = 256;
const IDLE_MS = 8_000;
/** The bytes that a client can send before the server has answered. */
const MAX_UNREAD_BYTES = 64 * 1024;
const MAX_PENDING = 1_000;

/** Answers one message. undefined: it gets no answer. */
export type AnswerMessage = (message: Buffer, transport: "udp" | "tcp") => Promise<Buffer | undefined>;

/** The name server's sockets on the loopback interface. */
export interface DnsSockets extends AsyncDisposable {
  readonly host: string;
  readonly udpPort: number;
  /** often the same number, but not always */
  readonly tcpPort: number;
  /** Answers messages from now on, and those that already wait. */
  serve(answer: AnswerMessage): void;
  close(): Promise<void>;
}

/**
 * Opens the sockets, so that their ports are known before the server exists: messages wait until `serve` is called.
 *
 * Mirrors the listeners of CoreDNS, core/dnsserver/server.go (Listen, ListenPacket).
 */
export async function openDnsSockets(): Promise<DnsSockets> {
  const stop = new AbortController();
  let resolveAnswer: (answer: AnswerMessage) => void = () => {};
  const answering = new Promise<AnswerMessage>((resolve) => {
    resolveAnswer = resolve;
  });
  let pending = 0;
  const answer: AnswerMessage = async (message, transport) => {
    if (pending >= MAX_PENDING) return undefined;
    pending++;
    try {
      return await (await answering)(message, transport);
    } finally {
      pending--;
    }
  };
  const tcp = await listenTcp(answer, stop.signal);
  const tcpPort = portOf(tcp);
  const udp = await bindUdp(tcpPort, answer).catch(() => bindUdp(0, answer));
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= (async () => {
      stop.abort();
      udp.close();
      await new Promise<void>((resolve) => tcp.close(() => resolve()));
    })();
    return closed;
  };
  const udpPort = udp.address().port;
  return { host: HOST, udpPort, tcpPort, serve: resolveAnswer, close, [Symbol.asyncDispose]: close };
}

async function bindUdp(port: number, answer: AnswerMessage): Promise<UdpSocket> {
  const socket = createSocket("udp4");
  socket.bind(port, HOST);
  await once(socket, "listening");
  socket.on("message", (message, from) => {
    if (message.length > MAX_DATAGRAM_BYTES) return;
    const send = async () => {
      const reply = await answer(message, "udp");
      // A client that left is not an error.
      if (reply !== undefined) socket.send(reply, from.port, from.address, () => {});
    };
    // The socket, or the server behind it, was closed meanwhile.
    send().catch(() => {});
  });
  socket.on("error", () => {});
  return socket;
}

async function listenTcp(answer: AnswerMessage, signal: AbortSignal): Promise<Server> {
  const server = createServer((socket) => serveConnection(socket, answer, signal));
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(0, HOST);
  await once(server, "listening");
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Each message follows its length. Replies are in the order of the queries. */
function serveConnection(socket: Socket, answer: AnswerMessage, signal: AbortSignal): void {
  const link = onAbort(signal, () => socket.destroy());
  socket.on("close", () => link[Symbol.dispose]());
  socket.on("error", () => socket.destroy());
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  let unread: Buffer = Buffer.alloc(0);
  let tail: Promise<void> = Promise.resolve();
  socket.on("data", (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    while (unread.length >= 2 && unread.length >= 2 + unread.readUInt16BE(0)) {
      const end = 2 + unread.readUInt16BE(0);
      const message = unread.subarray(2, end);
      unread = unread.subarray(end);
      tail = tail.then(() => reply(socket, message, answer));
    }
    if (unread.length > MAX_UNREAD_BYTES + 2) socket.destroy();
  });
  socket.on("end", () => void tail.then(() => socket.end()));
}

async function reply(socket: Socket, message: Buffer, answer: AnswerMessage): Promise<void> {
  // The server behind it was closed meanwhile.
  const bytes = await answer(message, "tcp").catch(() => undefined);
  if (bytes === undefined) socket.destroy();
  if (bytes === undefined || socket.destroyed) return;
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  socket.write(Buffer.concat([length, bytes]));
}
