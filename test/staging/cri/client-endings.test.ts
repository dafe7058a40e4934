import assert from "node:assert/strict";
import { createServer as createHttp2Server } from "node:http2";
import { createServer, type Socket } from "node:net";
import { describe, test } from "vitest";
import { RUNTIME_SERVICE } from "../../../src/staging/cri/services.js";
import { settle, untilTrue } from "../../support/fake-clock.js";
import { only } from "../../support/trace.js";
import { openChannel, socketUrl, startRuntime } from "./support.js";

const never = () => new Promise<never>(() => {});

describe("deadlines and aborts", () => {
  test("a call without an answer times out and is cancelled in the runtime", async () => {
    const ended: string[] = [];
    const server = await startRuntime({
      stopContainer: (_request, { signal }) => {
        signal.addEventListener("abort", () => ended.push("cancelled"));
        return never();
      },
    });
    const { channel, clock } = openChannel(server.endpoint);
    await channel.call(RUNTIME_SERVICE.version, {}, {});
    const call = channel.call(RUNTIME_SERVICE.stopContainer, { containerId: "x" }, { timeoutMs: 120_000 });
    await clock.advance(119_999);
    assert.equal(await Promise.race([call.then(() => "over"), settle().then(() => "waiting")]), "waiting");
    await clock.advance(1);
    const result = await call;
    assert.equal(result.outcome, "timed-out");
    await untilTrue(() => ended.length > 0);
    assert.equal(clock.sleeping, 0);
  });

  test("each call keeps its own deadline, in any order", async () => {
    const server = await startRuntime({ version: never });
    const { channel, clock } = openChannel(server.endpoint);
    const order: number[] = [];
    const calls = [5_000, 1_000, 3_000, 1_000].map(async (timeoutMs) => {
      const result = await channel.call(RUNTIME_SERVICE.version, {}, { timeoutMs });
      assert.equal(result.outcome, "timed-out");
      order.push(timeoutMs);
    });
    await clock.advance(2_000);
    assert.deepEqual(order, [1_000, 1_000]);
    await clock.advance(10_000);
    await Promise.all(calls);
    assert.deepEqual(order, [1_000, 1_000, 3_000, 5_000]);
    assert.equal(clock.sleeping, 0);
  });

  test("the request has the timeout in grpc-timeout", async () => {
    const seen: (string | undefined)[] = [];
    const server = createHttp2Server().on("stream", (stream, headers) => {
      seen.push(headers["grpc-timeout"] as string | undefined);
      stream.respond({ ":status": 200, "content-type": "application/grpc", "grpc-status": "5" }, { endStream: true });
    });
    const url = socketUrl();
    await new Promise<void>((resolve) => server.listen(url.slice("unix://".length), resolve));
    const { channel } = openChannel(url);
    for (const timeoutMs of [1, 120_000, 250_000_000, undefined]) {
      assert.equal((await channel.call(RUNTIME_SERVICE.version, {}, { timeoutMs })).outcome, "not-found");
    }
    assert.deepEqual(seen, ["1m", "120000m", "250000S", undefined]);
    await channel.close();
    await new Promise((resolve) => server.close(resolve));
  });

  test("an abort rejects with its reason, also before the call and while connecting", async () => {
    const server = await startRuntime({ version: never });
    const { channel, clock, events } = openChannel(server.endpoint);
    const stop = new AbortController();
    const options = { timeoutMs: 60_000, signal: stop.signal };
    const connecting = channel.call(RUNTIME_SERVICE.version, {}, options);
    stop.abort(new Error("enough"));
    await assert.rejects(connecting, { message: "enough" });
    await assert.rejects(channel.call(RUNTIME_SERVICE.version, {}, options), { message: "enough" });
    const later = new AbortController();
    const waiting = channel.call(RUNTIME_SERVICE.version, {}, { signal: later.signal });
    await settle();
    later.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    assert.equal(clock.sleeping, 0);
    assert.deepEqual(
      only(events, "rpc").map(({ code, outcome }) => [code, outcome]),
      [
        [undefined, "cancelled"],
        [undefined, "cancelled"],
      ],
    );
  });

  test("an abort ends a stream normally and cancels it in the runtime", async () => {
    let cancelled = false;
    const server = await startRuntime({
      async *getContainerEvents(_request, { signal }) {
        yield { containerId: "a" };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        cancelled = true;
      },
    });
    const { channel } = openChannel(server.endpoint);
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const event of channel.stream(RUNTIME_SERVICE.getContainerEvents, {}, { signal: stop.signal })) {
      seen.push(event.containerId);
      stop.abort();
    }
    assert.deepEqual(seen, ["a"]);
    await untilTrue(() => cancelled);
  });

  test("a reader that leaves a stream cancels it", async () => {
    let cancelled = false;
    const server = await startRuntime({
      async *getContainerEvents(_request, { signal }) {
        signal.addEventListener("abort", () => (cancelled = true));
        for (let i = 0; !signal.aborted; i++) yield { containerId: String(i) };
      },
    });
    const { channel } = openChannel(server.endpoint);
    for await (const _event of channel.stream(RUNTIME_SERVICE.getContainerEvents, {}, {})) break;
    await untilTrue(() => cancelled);
  });

  test("closing the channel ends calls and streams as Canceled", async () => {
    const server = await startRuntime({ version: never, getContainerEvents: endless });
    const { channel } = openChannel(server.endpoint);
    const call = channel.call(RUNTIME_SERVICE.version, {}, {});
    const stream = channel.stream(RUNTIME_SERVICE.getContainerEvents, {}, {}).next();
    await settle();
    await channel.close();
    await channel.close();
    assert.equal((await call).outcome, "failed");
    await assert.rejects(stream, { code: "Canceled" });
    const after = await channel.call(RUNTIME_SERVICE.version, {}, {});
    assert.equal(after.outcome === "ok" ? "" : after.code, "Canceled");
  });
});

async function* endless(): AsyncGenerator<{ containerId: string }> {
  await never();
  yield { containerId: "" };
}

describe("a runtime that comes and goes", () => {
  test("calls fail immediately during the backoff and reconnect after it", async () => {
    const url = socketUrl();
    const { channel, clock } = openChannel(url);
    const code = async () => {
      const result = await channel.call(RUNTIME_SERVICE.version, {}, { timeoutMs: 60_000 });
      return result.outcome === "ok" ? "OK" : result.code;
    };
    assert.equal(await code(), "Unavailable");
    const first = await startRuntime({}, { endpoint: url });
    assert.equal(await code(), "Unavailable"); // still in the backoff
    await clock.advance(100);
    assert.equal(await code(), "OK");
    await first.close();
    assert.equal(await eventually(code, "Unavailable"), "Unavailable");
    await startRuntime({}, { endpoint: url });
    await clock.advance(100);
    assert.equal(await code(), "OK");
  });

  test("a failed connection has the system's reason, without a time", async () => {
    const url = socketUrl();
    const path = url.slice("unix://".length);
    const { channel, clock } = openChannel(url);
    const text = async () => {
      const result = await channel.call(RUNTIME_SERVICE.version, {}, {});
      return result.outcome === "ok" ? "OK" : result.text;
    };
    const prefix = "rpc error: code = Unavailable desc = connection error:";
    assert.equal(await text(), `${prefix} connect ENOENT ${path}`);
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(path, resolve));
    await clock.advance(100);
    assert.match(await text(), /desc = connection error: [\w ]+$/); // which error it is depends on timing
    server.close();
  });

  test("a server without HTTP/2 settings is given up after five seconds, and its connection is closed", async () => {
    let closed = 0;
    const server = createServer((socket) => socket.resume().on("close", () => closed++));
    const url = socketUrl();
    await new Promise<void>((resolve) => server.listen(url.slice("unix://".length), resolve));
    const { channel, clock } = openChannel(url);
    const calls = [1, 2].map(() => channel.call(RUNTIME_SERVICE.version, {}, {}));
    await clock.advance(5_000);
    for (const result of await Promise.all(calls)) {
      assert.equal(
        result.outcome === "ok" ? "OK" : result.text,
        "rpc error: code = Unavailable desc = connection error: no HTTP/2 settings within 5 s",
      );
    }
    await untilTrue(() => closed === 1);
    assert.equal(clock.sleeping, 0);
    server.close();
  });

  test("the backoff grows to three seconds", async () => {
    const url = socketUrl();
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(url.slice("unix://".length), resolve));
    const { channel, clock } = openChannel(url);
    const attempts: number[] = [];
    for (let ms = 0; ms <= 11_000; ms += 10) {
      const before = connections;
      const result = await channel.call(RUNTIME_SERVICE.version, {}, {});
      assert.equal(result.outcome, "unavailable");
      if (connections > before) attempts.push(ms);
      await clock.advance(10);
    }
    assert.deepEqual(attempts, [0, 100, 260, 520, 930, 1590, 2640, 4320, 7010, 10010]);
    server.close();
  });

  test("after GOAWAY running calls finish, and the next call gets a new connection", async () => {
    let sessions = 0;
    const h2 = createHttp2Server();
    h2.on("session", () => {
      sessions++;
    });
    h2.on("stream", (stream) => {
      stream.session?.close(); // GOAWAY: no more calls, but this one is answered
      stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "5", "grpc-message": "gone" }));
      stream.end();
    });
    const url = socketUrl();
    await new Promise<void>((resolve) => h2.listen(url.slice("unix://".length), resolve));
    const { channel } = openChannel(url);
    for (let i = 1; i <= 3; i++) {
      assert.equal((await channel.call(RUNTIME_SERVICE.version, {}, {})).outcome, "not-found");
      assert.equal(sessions, i);
    }
    await channel.close();
    await new Promise((resolve) => h2.close(resolve));
  });

  test("running calls and streams are Unavailable when the connection drops", async () => {
    const sockets: Socket[] = [];
    const h2 = createHttp2Server();
    h2.on("connection", (socket: Socket) => sockets.push(socket));
    let begun = 0;
    h2.on("stream", (stream) => {
      begun++;
      stream.on("error", () => {});
    });
    h2.on("session", (session) => session.on("error", () => {}));
    const url = socketUrl();
    await new Promise<void>((resolve) => h2.listen(url.slice("unix://".length), resolve));
    const { channel } = openChannel(url);
    const call = channel.call(RUNTIME_SERVICE.version, {}, {});
    const stream = channel.stream(RUNTIME_SERVICE.getContainerEvents, {}, {}).next();
    const streamEnds = assert.rejects(stream, { name: "RpcError", code: "Unavailable" });
    await untilTrue(() => begun === 2);
    for (const socket of sockets) socket.destroy();
    const result = await call;
    assert.equal(result.outcome, "unavailable");
    await streamEnds;
    h2.close();
  });
});

async function eventually(ask: () => Promise<string>, want: string): Promise<string> {
  let seen = await ask();
  while (seen !== want) {
    await settle();
    seen = await ask();
  }
  return seen;
}
