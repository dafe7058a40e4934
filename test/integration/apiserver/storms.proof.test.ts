import { connect } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HttpsClient } from "../../support/https-client.js";
import { SpawnedServer, type Usage } from "../../support/spawned-server.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const MERGE = "application/merge-patch+json";
const MEGABYTE = 1024 * 1024;

let server: SpawnedServer;
let client: HttpsClient;
let before: Usage;

beforeEach(async () => {
  server = await SpawnedServer.start({ speed: 60 });
  client = new HttpsClient(server.access, 16);
  // Once, so that modules that load lazily do not count.
  await client.ask(CONFIG_MAPS, { method: "POST", body: { metadata: { name: "kept" }, data: { a: "b" } } });
  await warmUp();
  before = await settled();
});

afterEach(async () => {
  client.close();
  expect(await server.close()).toBe(0);
});

async function warmUp(): Promise<void> {
  const rounds = Array.from({ length: 600 }, (_, i) => INVALID[i % INVALID.length] as (typeof INVALID)[number]);
  await Promise.all(rounds.map(({ path, ...asked }) => client.ask(path, asked)));
}

/** The server's state once only this client's idle connections are left. */
async function settled(): Promise<Usage> {
  for (;;) {
    const usage = await server.usage();
    if ((usage.resources["TCPSocketWrap"] ?? 0) <= 16 && (await openWatches()) === 0) return usage;
  }
}

async function openWatches(): Promise<number> {
  const { text } = await client.ask("/metrics");
  return Number(/^apiserver_longrunning_requests\S* (\d+)/m.exec(text)?.[1] ?? 0);
}

/** Checks that memory and stored objects are as before, and that no error was uncaught. */
async function expectUnharmed(): Promise<void> {
  const after = await settled();
  expect({ unhandled: after.unhandled, bugs: after.bugs }).toEqual({ unhandled: [], bugs: [] });
  expect((after.usedBytes - before.usedBytes) / MEGABYTE).toBeLessThan(4);
  const { items } = (await client.ask(CONFIG_MAPS)).body;
  expect(items.map((one: { data: unknown }) => one.data)).toEqual([{ a: "b" }]);
}

const INVALID: readonly {
  path: string;
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  status: number;
}[] = [
  { path: CONFIG_MAPS, method: "POST", body: "{", status: 400 },
  { path: CONFIG_MAPS, method: "POST", body: { kind: "Pod", apiVersion: "v1" }, status: 400 },
  { path: CONFIG_MAPS, method: "POST", body: { metadata: { name: "../x" } }, status: 422 },
  { path: CONFIG_MAPS, method: "POST", body: { metadata: { name: "x".repeat(300) } }, status: 422 },
  { path: CONFIG_MAPS, method: "POST", body: { metadata: { name: "kept" } }, status: 409 },
  { path: `${CONFIG_MAPS}/kept`, method: "PATCH", body: {}, headers: { "content-type": "text/plain" }, status: 415 },
  {
    path: `${CONFIG_MAPS}/kept`,
    method: "PATCH",
    body: '{"data":{"a":5}}',
    headers: { "content-type": MERGE },
    status: 422,
  },
  {
    path: `${CONFIG_MAPS}/kept`,
    method: "PUT",
    body: { metadata: { name: "kept", resourceVersion: "1" } },
    status: 409,
  },
  { path: `${CONFIG_MAPS}/absent`, method: "DELETE", status: 404 },
  { path: "/api/v1/nodes/%zz", status: 400 },
  { path: "/api/v1/nodes/..", status: 400 },
  { path: "/apis/nope/v1/things", status: 404 },
  { path: "/api/v1/nodes?labelSelector=a%3D%3D%3Db", status: 400 },
  { path: "/api/v1/nodes?watch=1&resourceVersion=x", status: 500 },
  { path: "/version", headers: { authorization: "Bearer abcdef.0123456789abcdef" }, status: 200 },
];

describe("a storm of invalid requests", () => {
  test("10,000 of them, 16 at a time: the right status each time, and all as it was", async () => {
    let next = 0;
    const wrong: string[] = [];
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (let i = next++; i < 10_000; i = next++) {
          const { path, status, ...asked } = INVALID[i % INVALID.length] as (typeof INVALID)[number];
          const seen = (await client.ask(path, asked)).status;
          if (seen !== status) wrong.push(`${asked.method ?? "GET"} ${path}: ${seen}, not ${status}`);
        }
      }),
    );
    expect(wrong).toEqual([]);
    await expectUnharmed();
  });

  test("500 headers of 100 kB, and 500 silent connections", async () => {
    const headers = { "x-flood": "x".repeat(100_000) };
    const answers = await Promise.all(Array.from({ length: 500 }, () => client.ask("/version", { headers })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const { hostname, port } = new URL(server.access.url);
    const silent = Array.from({ length: 500 }, () => connect(Number(port), hostname));
    await Promise.all(silent.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    expect((await client.ask("/version")).status).toBe(200);
    for (const socket of silent) socket.destroy();
    await expectUnharmed();
  });

  test("a connection without a handshake does not keep the server from closing", async () => {
    const { hostname, port } = new URL(server.access.url);
    const silent = connect(Number(port), hostname).on("error", () => {});
    await new Promise((resolve) => silent.once("connect", resolve));
    expect(await server.close()).toBe(0);
  });
});

describe("clients that vanish", () => {
  const COUNT = 200;
  async function open(head: string): Promise<TLSSocket[]> {
    const sockets = await Promise.all(Array.from({ length: COUNT }, () => client.connect()));
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.write(head, resolve))));
    return sockets;
  }
  /** The server has begun to answer all of them. */
  const answered = (sockets: readonly TLSSocket[]) =>
    Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("data", resolve))));
  const vanish = (sockets: readonly TLSSocket[]) => {
    for (const socket of sockets) socket.on("error", () => {}).destroy();
  };

  test("in the middle of a watch", async () => {
    const sockets = await open(`GET ${CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n`);
    await answered(sockets);
    expect(await openWatches()).toBe(COUNT);
    vanish(sockets);
    await client.ask(`${CONFIG_MAPS}/kept`, {
      method: "PATCH",
      body: { metadata: { labels: { a: "b" } } },
      headers: { "content-type": MERGE },
    });
    await expectUnharmed();
  });

  test("in the middle of a body: nothing of it is stored", async () => {
    const half = JSON.stringify({ metadata: { name: "half" } }).slice(0, -1);
    vanish(await open(`POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: ${half.length + 1}\r\n\r\n${half}`));
    await expectUnharmed();
  });

  test("in the middle of a long answer, and without reading it", async () => {
    const data = { a: "x".repeat(900_000) };
    for (let i = 0; i < 10; i++)
      await client.ask(CONFIG_MAPS, { method: "POST", body: { metadata: { name: `big-${i}` }, data } });
    const sockets = await open(`GET ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\n\r\n`);
    for (const socket of sockets) socket.pause();
    // 200 lists of 9 MB each: the server does not encode what is not read.
    const waiting = await server.usage();
    expect((waiting.usedBytes - before.usedBytes) / MEGABYTE).toBeLessThan(300);
    vanish(sockets);
    for (let i = 0; i < 10; i++) await client.ask(`${CONFIG_MAPS}/big-${i}`, { method: "DELETE" });
    await settled();
  });
});
