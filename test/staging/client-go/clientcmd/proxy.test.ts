import assert from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { beforeAll, describe, test } from "vitest";
import { loadKubeconfig } from "../../../../src/staging/client-go/clientcmd/kubeconfig.js";
import { createClient } from "../../../../src/staging/client-go/rest/create-client.js";
import type { CertificateAuthority } from "../../../../src/staging/pki/issue.js";
import { dialUpgrade } from "../../../../src/staging/streaming/dial.js";
import { LabError } from "../../../../src/util/errors.js";
import { FakeClock, FakeRandom } from "../../../support/fake-clock.js";
import { makeAuthority, makeLeaf, startHttpsServer } from "../../../support/https-server.js";
import { recordingTrace } from "../../../support/trace.js";

let ca: CertificateAuthority;
let folder: string;
beforeAll(async () => {
  ca = await makeAuthority();
  folder = await mkdtemp(join(tmpdir(), "kubelab-proxy-"));
});

/** Loads a kubeconfig with this proxy and creates a client. */
async function throughProxy(server: string, proxyUrl: string) {
  const b64 = Buffer.from(ca.certificatePem).toString("base64");
  const cluster = { server, "certificate-authority-data": b64, "proxy-url": proxyUrl };
  const path = join(folder, "config");
  const context = { cluster: "c", user: "u" };
  const kubeconfig = {
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user: { token: "t" } }],
    contexts: [{ name: "x", context }],
    "current-context": "x",
  };
  await writeFile(path, JSON.stringify(kubeconfig));
  const { config } = await loadKubeconfig(path);
  const clock = new FakeClock();
  const { trace, events } = recordingTrace(clock, true);
  return { config, events, client: createClient(config, { trace, clock, random: new FakeRandom(), actor: "user" }) };
}

async function listen(server: Server | HttpServer): Promise<{ readonly port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An HTTP proxy that answers CONNECT with `status`, and records its requests. */
async function httpProxy(status = 200) {
  const seen: string[] = [];
  const server = createHttpServer();
  server.on("connect", ({ url = "", headers }, socket: Socket) => {
    seen.push(`${url} ${headers["proxy-authorization"] ?? "-"}`);
    socket.on("error", () => {});
    socket.write(`HTTP/1.1 ${status} Whatever\r\n\r\n`);
    const [host, port] = url.split(":");
    if (status === 200) tunnel(socket, Number(port), host);
  });
  return { seen, proxy: await listen(server) };
}

function tunnel(socket: Socket, port: number, host = "127.0.0.1"): void {
  const onward = connect(port, host);
  onward.on("error", () => socket.destroy());
  socket.on("close", () => onward.destroy());
  socket.pipe(onward).pipe(socket);
}

/** A SOCKS5 proxy without authentication, for IPv4 addresses. */
function socksProxy() {
  return listen(
    createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => {
        socket.write(Buffer.from([5, 0]));
        socket.once("data", (request: Buffer) => {
          socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
          tunnel(socket, request.readUInt16BE(8));
        });
      });
    }),
  );
}

describe("proxy-url", () => {
  test("requests and upgrades go through an HTTP proxy, and the server is verified", async () => {
    await using server = await startHttpsServer(await makeLeaf(ca), () => ({ status: 200, body: { minor: "25" } }));
    const { seen, proxy } = await httpProxy();
    await using _proxy = proxy;
    const { client, config, events } = await throughProxy(server.url, `http://me:p%40ss@127.0.0.1:${proxy.port}`);
    await using kube = client;
    assert.deepEqual(await kube.expect({ method: "GET", path: "/version" }), { minor: "25" });
    assert.equal(server.seen[0]?.headers.authorization, "Bearer t");
    assert.ok(config.proxyAgent);
    const upgrade = { method: "GET", protocol: "websocket", tls: config.proxyAgent } as const;
    const answer = await dialUpgrade(`${server.url}/exec`, upgrade, AbortSignal.timeout(10_000));
    assert.equal(answer.outcome, "refused");
    const want = `${new URL(server.url).host} Basic ${Buffer.from("me:p@ss").toString("base64")}`;
    assert.deepEqual(seen, [want, want]);
    assert.doesNotMatch(inspect(events, { depth: 9 }), /p%40ss|p@ss/);
  });

  test("requests go through a SOCKS proxy", async () => {
    await using server = await startHttpsServer(await makeLeaf(ca), () => ({ status: 200, body: {} }));
    await using proxy = await socksProxy();
    const { client } = await throughProxy(server.url, `socks5://127.0.0.1:${proxy.port}`);
    await using kube = client;
    assert.deepEqual(await kube.expect({ method: "GET", path: "/version" }), {});
    assert.equal(server.connections(), 1);
  });

  test("a server with a certificate of another CA is not trusted through a proxy either", async () => {
    await using server = await startHttpsServer(await makeLeaf(await makeAuthority()), () => ({
      status: 200,
      body: {},
    }));
    const { proxy } = await httpProxy();
    await using _proxy = proxy;
    const { client } = await throughProxy(server.url, `http://127.0.0.1:${proxy.port}`);
    await using kube = client;
    await assert.rejects(kube.expect({ method: "GET", path: "/version" }), { code: "CLUSTER_NOT_TRUSTED" });
    assert.deepEqual(server.seen, []);
  });

  for (const [what, status, why] of [
    ["refuses", 407, /^https:\/\/127.0.0.1:1 cannot be reached through the proxy of the kubeconfig: it answered 407$/],
    ["is not running", undefined, /through the proxy of the kubeconfig: ECONNREFUSED$/],
  ] as const) {
    test(`a proxy that ${what}`, async () => {
      const { proxy } = await httpProxy(status);
      const url = `http://me:secret@127.0.0.1:${proxy.port}`;
      if (status === undefined) await proxy[Symbol.asyncDispose]();
      const { client, events } = await throughProxy("https://127.0.0.1:1", url);
      await using kube = client;
      await assert.rejects(kube.expect({ method: "GET", path: "/version" }), (error: unknown) => {
        assert.ok(error instanceof LabError);
        assert.equal(error.code, "CLUSTER_UNREACHABLE");
        assert.match(error.message, why);
        assert.doesNotMatch(inspect([error, events], { depth: 9 }), /secret/);
        return true;
      });
      if (status !== undefined) await proxy[Symbol.asyncDispose]();
    });
  }
});
