import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { test } from "vitest";
import { createApiServerCertificate, createAuthority } from "../../../src/staging/pki/authority.js";
import { SystemClock } from "../../../src/util/clock.js";
import { TlsSessions } from "../../../src/util/net/tls-sessions.js";
import { SystemRandom } from "../../../src/util/random.js";

const deps = { clock: new SystemClock(), random: new SystemRandom() };

async function pairOf(commonName: string) {
  const authority = await createAuthority(deps, { commonName, keyType: "ec" });
  const { certificatePem: cert, privateKeyPem: key } = await createApiServerCertificate(authority, deps, {});
  return { ca: authority.certificatePem, cert, key };
}

const ours = await pairOf("ours");
const theirs = await pairOf("theirs");

/** A server that sends a word to each client. */
async function serve(pair: { readonly cert: string; readonly key: string }, port = 0): Promise<Server> {
  const server = createServer(pair, (socket) => {
    socket.on("error", () => socket.destroy());
    socket.end("word");
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function stop(server: Server): Promise<void> {
  await new Promise((resolve) => server.close(resolve));
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** `resumed`, `whole` handshake, or the error. */
async function visit(sessions: TlsSessions, port: number): Promise<string> {
  const socket: TLSSocket & Socket = sessions.connect({ host: "127.0.0.1", port });
  try {
    await once(socket, "secureConnect");
    const how = socket.isSessionReused() ? "resumed" : "whole";
    socket.resume();
    await once(socket, "close");
    return how;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

async function visits(sessions: TlsSessions, port: number, count: number): Promise<string[]> {
  const seen: string[] = [];
  for (let i = 0; i < count; i++) seen.push(await visit(sessions, port));
  return seen;
}

test("the first handshake with a server is full, later ones resume it; each server has its own session", async () => {
  const sessions = new TlsSessions({ ca: ours.ca });
  const [one, other] = [await serve(ours), await serve(ours)];
  assert.deepEqual(await visits(sessions, portOf(one), 3), ["whole", "resumed", "resumed"]);
  assert.deepEqual(await visits(sessions, portOf(other), 2), ["whole", "resumed"]);
  assert.deepEqual(await visits(new TlsSessions({ ca: ours.ca }), portOf(one), 2), ["whole", "resumed"]);
  await stop(one);
  await stop(other);
});

test("many at once resume one session", async () => {
  const sessions = new TlsSessions({ ca: ours.ca });
  const server = await serve(ours);
  await visit(sessions, portOf(server));
  const seen = await Promise.all(Array.from({ length: 20 }, () => visit(sessions, portOf(server))));
  assert.deepEqual(new Set(seen), new Set(["resumed"]));
  await stop(server);
});

test("a server without the session is verified again, and later connections resume its new session", async () => {
  const sessions = new TlsSessions({ ca: ours.ca });
  const server = await serve(ours);
  const port = portOf(server);
  await visits(sessions, port, 2);
  server.setSecureContext(ours);
  assert.deepEqual(await visits(sessions, port, 3), ["whole", "whole", "resumed"]);
  await stop(server);
});

test("another server at the same address is not trusted, however often the first was used", async () => {
  const sessions = new TlsSessions({ ca: ours.ca });
  const server = await serve(ours);
  const port = portOf(server);
  await visits(sessions, port, 2);
  await stop(server);
  const stranger = await serve(theirs, port);
  const unknown = "SELF_SIGNED_CERT_IN_CHAIN";
  assert.deepEqual(await visits(sessions, port, 2), [unknown, unknown]);
  await stop(stranger);
});

test("a name that is not in the certificate is refused each time", async () => {
  const sessions = new TlsSessions({ ca: ours.ca, servername: "elsewhere.example" });
  const server = await serve(ours);
  const altName = "ERR_TLS_CERT_ALTNAME_INVALID";
  assert.deepEqual(await visits(sessions, portOf(server), 2), [altName, altName]);
  await stop(server);
});
