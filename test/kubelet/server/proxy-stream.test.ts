import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, test } from "vitest";
import { KubeletServer } from "../../../src/kubelet/server/server.js";
import { SystemClock } from "../../../src/util/clock.js";
import { untilTrue } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";
import { FakeHost } from "./fake-host.js";

const clock = new SystemClock();

/** A streaming server of a runtime: it upgrades, sends the request back, and echoes. */
class FakeRuntime {
  readonly seen: IncomingMessage[] = [];
  readonly sockets = new Set<Socket>();
  /** what it does once it has upgraded; by default an echo */
  serve: (socket: Socket) => void = (socket) => socket.pipe(socket);
  answer =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n";
  readonly server: Server;

  constructor() {
    this.server = createHttpServer();
    this.server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      this.seen.push(request);
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
      socket.on("error", () => socket.destroy());
      const refused = /^\/(\d+)$/.exec(request.url ?? "")?.[1];
      if (refused !== undefined) {
        // Without closing: the answer's length says where it ends.
        socket.write(`HTTP/1.1 ${refused} No\r\nX-Kind: plain\r\nContent-Length: 10\r\n\r\nno upgrade`);
        return;
      }
      if (head.length > 0) socket.unshift(head);
      socket.write(this.answer);
      this.serve(socket);
    });
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }
}

/** A client that speaks bytes. */
class RawClient {
  readonly socket: Socket;
  #seen = Buffer.alloc(0);

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1" });
    this.socket.on("error", () => {});
    this.socket.on("data", (data) => {
      this.#seen = Buffer.concat([this.#seen, data]);
    });
  }

  upgrade(path: string, headers: readonly string[] = [], method = "POST"): void {
    const head = [
      `${method} ${path} HTTP/1.1`,
      "Host: kubelet.test",
      "Connection: Upgrade",
      "Upgrade: SPDY/3.1",
      ...headers,
    ];
    this.socket.write(`${head.join("\r\n")}\r\n\r\n`);
  }

  /** Waits for a number of bytes, or until the other side closes. */
  async until(isEnough: (seen: Buffer) => boolean): Promise<Buffer> {
    while (!isEnough(this.#seen) && !this.socket.closed) {
      await Promise.race([once(this.socket, "data"), once(this.socket, "close")]);
    }
    return this.#seen;
  }

  async head(): Promise<string> {
    const seen = await this.until((bytes) => bytes.includes("\r\n\r\n"));
    return seen.toString("latin1").split("\r\n\r\n")[0] ?? "";
  }

  async body(length: number): Promise<Buffer> {
    const seen = await this.until((bytes) => bytes.length - bytes.indexOf("\r\n\r\n") - 4 >= length);
    return seen.subarray(seen.indexOf("\r\n\r\n") + 4);
  }

  async all(): Promise<string> {
    if (!this.socket.closed) await once(this.socket, "close");
    return this.#seen.toString("latin1");
  }
}

const EXEC = "/exec/default/web/c?output=1&command=ls";

describe("kubelet server: streams are handed on to the runtime", () => {
  const runtime = new FakeRuntime();
  const host = new FakeHost();
  const { trace, events } = recordingTrace(clock);
  let server: KubeletServer;
  const clients: RawClient[] = [];
  const client = () => {
    const one = new RawClient(server.port);
    clients.push(one);
    return one;
  };

  let closedPort = 0;

  beforeAll(async () => {
    const nobody = createServer().listen(0, "127.0.0.1");
    await once(nobody, "listening");
    closedPort = (nobody.address() as AddressInfo).port;
    nobody.close();
    runtime.server.listen(0, "127.0.0.1");
    await once(runtime.server, "listening");
    server = await KubeletServer.listen({ host, clock, trace }, { port: 0, transport: "http" });
    host.streamUrl = `http://127.0.0.1:${runtime.port}/exec/abcdefgh`;
  });
  afterAll(async () => {
    for (const { socket } of clients) socket.destroy();
    await server.close();
    runtime.server.closeAllConnections();
    for (const socket of runtime.sockets) socket.destroy();
    runtime.server.close();
  });

  test("the request is forwarded unchanged, to the runtime's path, with the client's address", async () => {
    const one = client();
    one.upgrade(EXEC, [
      "X-Stream-Protocol-Version: v4.channel.k8s.io",
      "X-Stream-Protocol-Version: v3.channel.k8s.io",
      "X-Forwarded-For: 10.1.2.3",
    ]);
    const head = await one.head();
    assert.equal(
      head,
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io",
    );
    const seen = runtime.seen.at(-1);
    assert.equal(`${seen?.method} ${seen?.url}`, "POST /exec/abcdefgh");
    assert.deepEqual(seen?.rawHeaders, [
      ..."Host|kubelet.test|Connection|Upgrade|Upgrade|SPDY/3.1".split("|"),
      ..."X-Stream-Protocol-Version|v4.channel.k8s.io|X-Stream-Protocol-Version|v3.channel.k8s.io".split("|"),
      ..."X-Forwarded-For|10.1.2.3, 127.0.0.1|Content-Length|0".split("|"),
    ]);
    one.socket.destroy();
  });

  test("every byte goes both ways as it is, also what came with the head", async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7 + (i >> 8)) & 0xff));
    const one = client();
    const head = `GET ${EXEC} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`;
    one.socket.write(Buffer.concat([Buffer.from(head), bytes.subarray(0, 1000)]));
    one.socket.write(bytes.subarray(1000));
    assert.ok((await one.body(bytes.length)).equals(bytes));
    one.socket.destroy();
  });

  test("what the runtime sends at once behind its answer is not lost", async () => {
    runtime.answer += "early";
    const one = client();
    one.upgrade(EXEC);
    assert.equal((await one.body(5)).toString(), "early");
    runtime.answer = runtime.answer.replace(/early$/, "");
    one.socket.destroy();
  });

  test("a client that goes away ends the runtime's side", async () => {
    const one = client();
    one.upgrade(EXEC);
    await one.head();
    const [socket] = [...runtime.sockets].slice(-1);
    assert.ok(socket);
    one.socket.destroy();
    await once(socket, "close");
  });

  test("a runtime that ends its side ends the client's, after the last byte", async () => {
    const last = Buffer.alloc(2_000_000, 0x61);
    runtime.serve = (socket) => {
      socket.end(last);
    };
    const one = client();
    one.upgrade(EXEC);
    const all = await one.all();
    runtime.serve = (socket) => socket.pipe(socket);
    assert.equal(all.length - all.indexOf("\r\n\r\n") - 4, last.length);
  });

  test("a runtime that breaks off ends the client's side", async () => {
    runtime.serve = (socket) => {
      socket.resetAndDestroy();
    };
    const one = client();
    one.upgrade(EXEC);
    await one.all();
    runtime.serve = (socket) => socket.pipe(socket);
  });

  test("a client that reads slowly slows the runtime down", async () => {
    let written = 0;
    runtime.serve = (socket) => {
      const chunk = Buffer.alloc(64 * 1024);
      const more = () => {
        while (written < 2e9 && !socket.destroyed) {
          written += chunk.length;
          if (!socket.write(chunk)) return void socket.once("drain", more);
        }
      };
      more();
    };
    const one = client();
    one.upgrade(EXEC);
    await one.head();
    one.socket.pause();
    let before = -1;
    // Until nothing moves any more: the buffers on the way are full.
    while (before !== written) {
      before = written;
      for (let i = 0; i < 300; i++) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(written < 200e6, `${written} bytes were taken`);
    one.socket.destroy();
    runtime.serve = (socket) => socket.pipe(socket);
  });

  const refusals: readonly [string, () => string, number, string][] = [
    ["a runtime that refuses", () => `http://127.0.0.1:${runtime.port}/403`, 403, "no upgrade"],
    [
      "a runtime that does not upgrade",
      () => `http://127.0.0.1:${runtime.port}/200`,
      500,
      "invalid upgrade response: status code 200\n",
    ],
    [
      "nobody there",
      () => `http://127.0.0.1:${closedPort}/x`,
      500,
      "error dialing backend: dial tcp 127.0.0.1:PORT: connect: connection refused\n",
    ],
    ["no URL", () => "nonsense", 500, "the runtime's streaming URL nonsense cannot be used: it is not a URL"],
    [
      "another machine",
      () => "http://192.0.2.1:1/exec/abcdefgh",
      500,
      "the runtime's streaming URL http://192.0.2.1:1/exec/ab**** cannot be used: 192.0.2.1 is not an address of this machine",
    ],
  ];
  for (const [what, url, status, want] of refusals) {
    test(`${what}: ${status}`, async () => {
      const before = host.streamUrl;
      host.streamUrl = url();
      const one = client();
      one.upgrade(EXEC);
      const all = await one.all();
      host.streamUrl = before;
      assert.match(all, new RegExp(`^HTTP/1.1 ${status} `));
      assert.equal(bodyOf(all).replace(`:${closedPort}:`, ":PORT:"), want);
    });
  }

  test("a runtime's refusal comes with its headers", async () => {
    const before = host.streamUrl;
    host.streamUrl = `http://127.0.0.1:${runtime.port}/403`;
    const one = client();
    one.upgrade(EXEC);
    const all = await one.all();
    host.streamUrl = before;
    assert.match(all, /\r\nX-Kind: plain\r\n/);
    assert.match(all, /\r\nConnection: close\r\n/);
  });

  test("a runtime that listens on all addresses is called on loopback; the trace hides the URL's secret", async () => {
    const before = host.streamUrl;
    host.streamUrl = before.replace("127.0.0.1", "0.0.0.0");
    const from = events.length;
    const one = client();
    one.upgrade(EXEC);
    await one.head();
    host.streamUrl = before;
    one.socket.destroy();
    const [decision] = only(events.slice(from), "decision");
    assert.equal(decision?.what, `connect the streams to http://127.0.0.1:${runtime.port}/exec/ab****`);
    assert.equal(
      decision?.why,
      `the runtime answered http://0.0.0.0:${runtime.port}/exec/ab****, and 0.0.0.0 is where it listens, not where it is called`,
    );
    assert.ok(!JSON.stringify(events).includes("abcdefgh"));
  });

  test("the trace shows the protocol and the number of bytes", async () => {
    const path = "/attach/default/web/told";
    const one = client();
    one.upgrade(`${path}?input=1`);
    await one.head();
    one.socket.write("12345");
    await one.body(5);
    one.socket.end();
    await one.all();
    const states = () => only(events, "state").filter(({ subject }) => subject === `streams of ${path}`);
    const told = () => states().map(({ to }) => to);
    await untilTrue(() => told().length >= 2);
    assert.deepEqual(told(), [
      "upgraded to SPDY/3.1, v4.channel.k8s.io",
      "ended: 5 bytes to the runtime, 5 bytes from it",
    ]);
  });

  test("200 streams at once", async () => {
    const all = Array.from({ length: 200 }, () => client());
    for (const [i, one] of all.entries()) {
      one.upgrade(EXEC);
      one.socket.write(`stream ${String(i).padStart(3, "0")}`);
    }
    const echoes = await Promise.all(all.map((one) => one.body(10)));
    assert.deepEqual(
      echoes.map(String),
      all.map((_one, i) => `stream ${String(i).padStart(3, "0")}`),
    );
    for (const { socket } of all) socket.destroy();
  });

  test("a kubelet that closes ends both sides", async () => {
    const extra = await KubeletServer.listen({ host, clock, trace }, { port: 0, transport: "http" });
    const one = new RawClient(extra.port);
    one.upgrade(EXEC);
    await one.head();
    const [socket] = [...runtime.sockets].slice(-1);
    assert.ok(socket);
    const closed = once(socket, "close");
    await extra.close();
    await Promise.all([closed, one.all()]);
  });
});

function bodyOf(answer: string): string {
  return answer.slice(answer.indexOf("\r\n\r\n") + 4);
}
