import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, test } from "vitest";
import { createApiServerCertificate, createAuthority } from "../../../src/staging/pki/authority.js";
import { answerPlainHttp } from "../../../src/staging/server/plain-http-on-tls.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";

let server: Server;
beforeAll(async () => {
  const deps = { clock: new SystemClock(), random: new SystemRandom() };
  const ca = await createAuthority(deps, { commonName: "test", keyType: "ec" });
  const { certificatePem: cert, privateKeyPem: key } = await createApiServerCertificate(ca, deps, {});
  server = createServer({ cert, key }, (_request, response) => response.end("over TLS"));
  answerPlainHttp(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

async function say(text: string): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  let seen = "";
  socket.on("data", (data) => {
    seen += String(data);
  });
  socket.on("error", () => socket.destroy());
  socket.write(text);
  if (!socket.closed) await once(socket, "close");
  return seen;
}

for (const method of ["GET", "POST", "HEAD", "PUT"]) {
  test(`${method} without TLS gets Go's message`, async () => {
    const answer = await say(`${method} /healthz HTTP/1.1\r\nHost: x\r\n\r\n`);
    const [head, body] = answer.split("\r\n\r\n");
    assert.deepEqual([head, body], ["HTTP/1.0 400 Bad Request", "Client sent an HTTP request to an HTTPS server.\n"]);
  });
}

test("bytes that are neither TLS nor HTTP get no plain-text response", async () => {
  assert.doesNotMatch(await say("\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008"), /HTTP/);
});

test("TLS clients are served as before", async () => {
  const { port } = server.address() as AddressInfo;
  const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
  socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  let seen = "";
  for await (const data of socket) seen += String(data);
  assert.match(seen, /^HTTP\/1\.1 200 OK.*over TLS/s);
});
