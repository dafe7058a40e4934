import { pipeline } from "node:stream/promises";
import { onAbort } from "../../../util/async/abort.js";
import { FsError } from "../fs/fs-error.js";
import { bindErrorText, listenTcp, listenUdp } from "../net/listen.js";
import { duplexOf } from "../process/duplex.js";
import type { Connection, SocketAddress } from "../process/ports.js";
import type { Self } from "../process/process.js";
import { SIGINT, SIGTERM } from "../process/signals.js";
import { complain, print } from "./console.js";
import { untilSignal } from "./system.js";
import { serveHttp } from "./web/http-server.js";

const DNS_PORT = 53;
const HEALTH_PORT = 8080;
const READY_PORT = 8181;

/**
 * CoreDNS with the plugins `forward`, `health` and `ready`: it passes each query on to the name server that its Corefile names.
 * Other plugins of the Corefile are ignored.
 */
export async function coredns(self: Self): Promise<number> {
  const file = self.argv[self.argv.indexOf("-conf") + 1] ?? "/Corefile";
  const upstream = forwardOf(self, file);
  if (typeof upstream === "string") {
    await complain(self, upstream);
    return 1;
  }
  const udp = listenUdp(self, DNS_PORT, (bytes) => forwardUdp(self, upstream, bytes));
  const tcp = listenTcp(self, DNS_PORT, (connection) => void forwardTcp(self, upstream, connection));
  for (const listening of [tcp, udp]) {
    if (typeof listening !== "string") continue;
    await complain(self, `Listen: listen tcp :${DNS_PORT}: bind: ${bindErrorText(listening).toLowerCase()}`);
    return 1;
  }
  serveText(self, HEALTH_PORT, "/health");
  serveText(self, READY_PORT, "/ready");
  await print(self, `.:${DNS_PORT}\nforward . ${upstream.ip}:${upstream.port}\n`);
  await untilSignal(self, SIGTERM, SIGINT);
  if (typeof udp !== "string") udp.close();
  await print(self, "[INFO] SIGTERM: Shutting down servers then terminating\n");
  return 0;
}

/** The name server of `forward . IP[:PORT]`, or the reason why there is none. */
function forwardOf(self: Self, file: string): SocketAddress | string {
  try {
    const text = self.machine.fs.readFile(file).toString();
    const [, ip, port] = /^[^\S\n]*forward\s+\.\s+(\d+\.\d+\.\d+\.\d+)(?::(\d+))?\b/m.exec(text) ?? [];
    if (ip === undefined) return `${file} has no line "forward . IP": there is nothing to answer with`;
    return { ip, port: Number(port ?? DNS_PORT) };
  } catch (error) {
    if (error instanceof FsError) return `open ${file}: ${error.text.toLowerCase()}`;
    throw error;
  }
}

async function forwardUdp(self: Self, upstream: SocketAddress, query: Buffer): Promise<Buffer | undefined> {
  try {
    return await self.machine.network.sendDatagram(upstream, query, self.signal);
  } catch {
    return self.signal.aborted ? undefined : servfail(query);
  }
}

const MIN_MESSAGE_BYTES = 12;
const RESPONSE = 0x80;
const SERVFAIL = 2;

/** The answer if the name server cannot be reached: the query itself. */
function servfail(query: Buffer): Buffer | undefined {
  if (query.length < MIN_MESSAGE_BYTES) return undefined;
  const answer = Buffer.from(query);
  answer.writeUInt8(query.readUInt8(2) | RESPONSE, 2);
  answer.writeUInt8((query.readUInt8(3) & 0xf0) | SERVFAIL, 3);
  return answer;
}

async function forwardTcp(self: Self, upstream: SocketAddress, connection: Connection): Promise<void> {
  const client = duplexOf(connection, self.signal);
  try {
    const server = duplexOf(await self.machine.network.connect(upstream, self.signal), self.signal);
    await pipeline(client, server, client);
  } catch {
    // The name server, the client or this process has ended.
    client.destroy();
  }
}

/** Answers OK at one path, as CoreDNS does for its probes. */
function serveText(self: Self, port: number, path: string): void {
  const server = serveHttp(self, ({ url }, response) => {
    response.writeHead(url === path ? 200 : 404, { "content-type": "text/plain; charset=utf-8" });
    response.end(url === path ? "OK" : "404 page not found\n");
  });
  listenTcp(self, port, server.listener);
  onAbort(self.signal, () => server.close());
}
