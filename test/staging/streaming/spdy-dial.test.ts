import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, test } from "vitest";
import { connectSpdyRemoteCommand } from "../../../src/staging/client-go/remotecommand/spdy.js";
import { type DialOptions, dialUpgrade } from "../../../src/staging/streaming/dial.js";
import { acceptSpdyRemoteCommand } from "../../../src/staging/streaming/remote-command/spdy-server.js";
import { SUCCESS } from "../../../src/staging/streaming/remote-command/status-text.js";
import { FakeClock } from "../../support/fake-clock.js";
import { makeAuthority, makeLeaf } from "../../support/https-server.js";
import { bytesOf } from "./spdy-support.js";

const { signal } = new AbortController();
const OPTIONS = { stdin: true, stdout: true, stderr: false, tty: false };
const SPDY: DialOptions = { method: "POST", protocol: "SPDY/3.1" };

let ca: Awaited<ReturnType<typeof makeAuthority>>;
let leaf: Awaited<ReturnType<typeof makeLeaf>>;
let secure: Server;
let plain: Server;
const seen: string[] = [];

/** Echoes stdin under /exec; other paths select the answer. */
function serve(server: Server): void {
  server.on("upgrade", (request, socket, head) => {
    const peer = (socket as Partial<TLSSocket>).getPeerCertificate?.().subject?.CN ?? "nobody";
    seen.push(`${request.method} ${request.url} by ${peer}`);
    if (request.url === "/hang") return;
    if (request.url === "/hangup") return void socket.destroy();
    if (request.url === "/no") {
      socket.end("HTTP/1.1 404 Not Found\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 5\r\n\r\nnope\n");
      return;
    }
    if (request.url === "/long") {
      socket.on("error", () => {});
      socket.write("HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\n\r\n");
      socket.write(Buffer.alloc(10_000_000, 120));
      return;
    }
    if (request.url === "/garbage") return void socket.end("SSH-2.0-OpenSSH\r\n");
    if (request.url === "/early") {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nfirst bytes");
      return;
    }
    void acceptSpdyRemoteCommand(request, socket, head, { options: OPTIONS, clock: new FakeClock() }).then(
      async (session) => {
        for await (const piece of session.stdin ?? []) await session.stdout?.write(piece);
        await session.finish(SUCCESS);
      },
    );
  });
}

beforeAll(async () => {
  ca = await makeAuthority();
  leaf = await makeLeaf(ca, { commonName: "kubelet" });
  const tls = { key: leaf.keyPem, cert: leaf.certificatePem, ca: ca.certificatePem, requestCert: true };
  secure = createHttpsServer({ ...tls, rejectUnauthorized: false });
  plain = createHttpServer();
  for (const server of [secure, plain]) {
    serve(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
});
afterAll(() => {
  for (const server of [secure, plain]) server.close();
});

const urlOf = (server: Server, path: string) =>
  `${server === secure ? "https" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;

test("a remote command over TLS with a client certificate echoes a megabyte", async () => {
  const client = await makeLeaf(ca, { commonName: "apiserver" });
  const tls = { ca: ca.certificatePem, cert: client.certificatePem, key: client.keyPem };
  const clock = new FakeClock();
  const connected = await connectSpdyRemoteCommand(urlOf(secure, "/exec"), { options: OPTIONS, clock, tls }, signal);
  assert.equal(connected.outcome, "connected");
  await using session = connected.session;
  const output = bytesOf(session.stdout);
  const sent = Buffer.alloc(1_000_000, "some bytes ");
  await session.stdin?.write(sent);
  await session.stdin?.end();
  assert.ok((await output).equals(sent));
  assert.equal((await session.status).status, "Success");
  assert.equal(seen.at(-1), "POST /exec by apiserver");
});

const UNTRUSTED: readonly (readonly [what: string, tls: DialOptions["tls"], reason: RegExp])[] = [
  ["another authority", undefined, /unable to verify|self-signed|unable to get/],
  ["another name", { servername: "other.example" }, /other\.example|Hostname\/IP/],
];
for (const [what, tls, reason] of UNTRUSTED) {
  test(`a certificate of ${what} is not trusted`, async () => {
    const trusted = tls === undefined ? {} : { tls: { ca: ca.certificatePem, ...tls } };
    const dialled = dialUpgrade(urlOf(secure, "/exec"), { ...SPDY, ...trusted }, signal);
    await assert.rejects(dialled, (error: Error) => error.name === "StreamError" && reason.test(error.message));
  });
}

test("headers with several values are sent one by one, also with GET", async () => {
  const requests: (readonly string[])[] = [];
  plain.once("upgrade", (request) => requests.push(request.rawHeaders));
  const headers = { "X-Stream-Protocol-Version": ["v4.channel.k8s.io", "channel.k8s.io"], "User-Agent": "kubelab" };
  const answer = await dialUpgrade(urlOf(plain, "/no"), { ...SPDY, method: "GET", headers }, signal);
  assert.equal(answer.outcome, "refused");
  assert.equal(seen.at(-1), "GET /no by nobody");
  const raw = requests[0] ?? [];
  const values = raw.filter((_, at) => raw[at - 1] === "X-Stream-Protocol-Version");
  assert.deepEqual(values, ["v4.channel.k8s.io", "channel.k8s.io"]);
});

test("a refusal contains its status, headers and text", async () => {
  const answer = await dialUpgrade(urlOf(plain, "/no"), SPDY, signal);
  assert.equal(answer.outcome, "refused");
  if (answer.outcome !== "refused") return;
  assert.deepEqual([answer.status, answer.statusText, answer.body.toString()], [404, "Not Found", "nope\n"]);
  assert.deepEqual(answer.rawHeaders.slice(0, 4), ["X-A", "1", "X-A", "2"]);
});

test("the beginning of an endless refusal is kept", async () => {
  const answer = await dialUpgrade(urlOf(plain, "/long"), SPDY, signal);
  assert.equal(answer.outcome === "refused" && answer.body.length, 65_536);
});

test("bytes received with the answer are not lost", async () => {
  const answer = await dialUpgrade(urlOf(plain, "/early"), SPDY, signal);
  assert.equal(answer.outcome, "upgraded");
  if (answer.outcome !== "upgraded") return;
  assert.equal(answer.head.toString(), "first bytes");
  answer.socket.destroy();
});

for (const path of ["/hangup", "/garbage"]) {
  test(`${path} is not an answer`, async () => {
    await assert.rejects(dialUpgrade(urlOf(plain, path), SPDY, signal), { name: "StreamError" });
  });
}

test("a dial ends with its signal, and leaves no connection", async () => {
  const stop = new AbortController();
  const connected = once(plain, "connection") as Promise<[Socket]>;
  const dialled = assert.rejects(dialUpgrade(urlOf(plain, "/hang"), SPDY, stop.signal), /enough/);
  const [socket] = await connected;
  stop.abort(new Error("enough"));
  await dialled;
  if (!socket.destroyed) {
    socket.resume().on("error", () => {});
    await once(socket, "end");
    socket.destroy();
  }
  await assert.rejects(dialUpgrade(urlOf(plain, "/hang"), SPDY, stop.signal), /enough/);
});
