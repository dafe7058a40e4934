import { once } from "node:events";
import { createServer as createHttpServer, request as httpRequest, type RequestOptions } from "node:http";
import { Agent, createServer as createHttpsServer, request as httpsRequest } from "node:https";
import { type AddressInfo, createServer, type Socket, connect as tcpConnect } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext, createServer as createTlsServer, connect as tlsConnect } from "node:tls";
import { createApiServerCertificate, createAuthority } from "../../src/staging/pki/authority.js";
import { clock, random } from "./chain.js";

/** What Node itself can do on this machine with nothing of ours in it: the floor below our figures. */

async function servingPair(): Promise<{ readonly cert: string; readonly key: string }> {
  const deps = { clock, random };
  const ca = await createAuthority(deps, { commonName: "bench", keyType: "ec" });
  const { certificatePem: cert, privateKeyPem: key } = await createApiServerCertificate(ca, deps, {});
  return { cert, key };
}

const SWITCHED = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";

export interface BareChain {
  /** ms of one upgrade through the whole chain, with a word there and back */
  ask(): Promise<number>;
  close(): void;
}

/**
 * The hops of an exec without what they are for: a client, a server with TLS, one more, and one without. Each upgrade is
 * passed on and joined; client certificates are shown and TLS sessions resumed, as in the chain.
 */
export async function startBareChain(): Promise<BareChain> {
  const pair = await servingPair();
  const last = createHttpServer().on("upgrade", (_, socket: Duplex) => {
    socket.on("error", () => socket.destroy());
    socket.write(SWITCHED);
    socket.once("data", (bytes) => socket.end(bytes));
  });
  const servers: { close(): unknown }[] = [last];
  let ask = upgrader(await listen(last), undefined);
  for (let i = 0; i < 2; i++) {
    const up = ask;
    const server = createHttpsServer({ ...pair, requestCert: true, rejectUnauthorized: false });
    server.on("upgrade", async (_, client: Duplex) => {
      const socket = await up();
      for (const one of [client, socket]) one.on("error", () => one.destroy());
      client.write(SWITCHED);
      client.pipe(socket).pipe(client);
    });
    servers.push(server);
    const tls = { agent: new Agent(), secureContext: createSecureContext(pair), rejectUnauthorized: false };
    ask = upgrader(await listen(server), tls);
  }
  const first = ask;
  return {
    async ask() {
      const startMs = performance.now();
      const socket = await first();
      socket.on("error", () => socket.destroy());
      socket.end("word");
      socket.resume();
      await once(socket, "close");
      return performance.now() - startMs;
    },
    close: () => servers.forEach((server) => void server.close()),
  };
}

function upgrader(port: number, tls: object | undefined): () => Promise<Duplex> {
  const options: RequestOptions = { port, host: "127.0.0.1", headers: { Connection: "Upgrade", Upgrade: "x" } };
  return () =>
    new Promise((resolve, reject) => {
      const request =
        tls === undefined ? httpRequest({ ...options, agent: false }) : httpsRequest({ ...options, ...tls });
      request.once("upgrade", (_, socket) => resolve(socket));
      request.on("error", reject);
      request.end();
    });
}

/** MB/s through so many proxies in this process that do nothing but end TLS on one side and begin it on the other. */
export async function tlsProxyRate(proxies: number, bytes: number): Promise<number> {
  const { cert, key } = await servingPair();
  const source = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    pour(socket, bytes);
  });
  const servers = [source];
  let port = await listen(source);
  // The last hop, to the runtime, has no TLS; as in the chain.
  for (let i = 0; i < proxies; i++) {
    const [to, isFirst] = [port, i === 0];
    const proxy = createTlsServer({ cert, key }, (client) => {
      const up = isFirst
        ? tcpConnect(to, "127.0.0.1")
        : tlsConnect({ port: to, host: "127.0.0.1", rejectUnauthorized: false });
      for (const one of [client, up]) one.on("error", () => one.destroy());
      client.pipe(up).pipe(client);
    });
    servers.push(proxy);
    port = await listen(proxy);
  }
  const startMs = performance.now();
  const client = tlsConnect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  let received = 0;
  for await (const piece of client) received += (piece as Buffer).length;
  const rate = received / 1e6 / ((performance.now() - startMs) / 1000);
  for (const server of servers) server.close();
  return rate;
}

function pour(socket: Socket, bytes: number): void {
  const piece = Buffer.alloc(65_536);
  let left = bytes;
  const more = () => {
    while (left > 0) {
      left -= piece.length;
      if (!socket.write(piece)) return void socket.once("drain", more);
    }
    socket.end();
  };
  more();
}

function listen(server: ReturnType<typeof createServer> | ReturnType<typeof createHttpsServer>): Promise<number> {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)));
}
