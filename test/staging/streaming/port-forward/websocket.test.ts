import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "vitest";
import { WebSocket } from "ws";
import type {
  ForwardedConnection,
  PortForwardServerSession,
} from "../../../../src/staging/streaming/port-forward/session.js";
import { acceptWebSocketPortForward } from "../../../../src/staging/streaming/port-forward/websocket-server.js";
import { portForwardPorts } from "../../../../src/staging/streaming/stream-options.js";
import { acceptWebSocket } from "../../../../src/staging/streaming/websocket/accept.js";
import { connectWebSocket } from "../../../../src/staging/streaming/websocket/connect.js";
import { PORT_FORWARD_TUNNEL } from "../../../../src/staging/streaming/websocket/subprotocols.js";
import { webSocketTunnel } from "../../../../src/staging/streaming/websocket/tunnel.js";
import { type Clock, SystemClock } from "../../../../src/util/clock.js";
import { FakeClock, untilTrue } from "../../../support/fake-clock.js";
import { deferred, startUpgradeServer, textOf } from "../support/upgrade-server.js";

const clock = new SystemClock();

/** Serves the ports in the URL with `serve`. */
function portServer(
  serve: (connection: ForwardedConnection) => Promise<void>,
  onSession?: (session: PortForwardServerSession) => void,
  on: Clock = clock,
) {
  return startUpgradeServer(async (request, socket, head) => {
    const ports = portForwardPorts(new URL(request.url ?? "", "http://x").searchParams, true);
    assert.ok(!("problem" in ports));
    const session = await acceptWebSocketPortForward(request, socket, head, { ports, clock: on });
    onSession?.(session);
    const running: Promise<void>[] = [];
    for await (const connection of session.connections) running.push(serve(connection));
    await Promise.all(running);
  });
}

async function echoOnce(connection: ForwardedConnection): Promise<void> {
  for await (const bytes of connection.incoming) {
    await connection.write(Buffer.from(`${connection.port}:${Buffer.from(bytes).toString()}`));
    break;
  }
  await connection.close();
}

/** The messages as `channel:hex`, until the server closes. */
async function messagesOf(ws: WebSocket): Promise<string[]> {
  const seen: string[] = [];
  ws.on("message", (data: Buffer) => seen.push(`${data[0]}:${data.subarray(1).toString("hex")}`));
  await once(ws, "close");
  return seen;
}

test("each port has two channels, which both start with its number, little endian", async () => {
  await using server = await portServer(echoOnce);
  const ws = new WebSocket(`${server.url}/?port=8080,9`, "v4.channel.k8s.io");
  const seen = messagesOf(ws);
  await once(ws, "open");
  ws.send(Buffer.from("\x02x"));
  ws.send(Buffer.from("\x00y"));
  const all = await seen;
  assert.deepEqual(all.slice(0, 4), ["0:901f", "1:901f", "2:0900", "3:0900"]);
  assert.deepEqual(all.slice(4).sort(), [
    `0:${Buffer.from("8080:y").toString("hex")}`,
    `2:${Buffer.from("9:x").toString("hex")}`,
  ]);
});

test("an error of one port is reported on its error channel; the others continue", async () => {
  await using server = await portServer((one) => (one.port === 9 ? one.fail("nothing listens on 9") : echoOnce(one)));
  const ws = new WebSocket(`${server.url}/?port=80&port=9`, "v4.channel.k8s.io");
  const seen = messagesOf(ws);
  await once(ws, "open");
  ws.send(Buffer.from("\x00still"));
  const all = (await seen).slice(4).map((one) => `${one.slice(0, 2)}${Buffer.from(one.slice(2), "hex")}`);
  assert.deepEqual(all.sort(), ["0:80:still", "3:nothing listens on 9"]);
});

test("the WebSocket closes a second after the last pod has ended; until then its bytes still arrive", async () => {
  const time = new FakeClock();
  const served = new Map<number, string>();
  await using server = await portServer(
    async (connection) => {
      await connection.write(Buffer.from("bye"));
      await connection.end();
      served.set(connection.port, await textOf(connection.incoming));
      await connection.close();
    },
    undefined,
    time,
  );
  const ws = new WebSocket(`${server.url}/?port=80,81`, "v4.channel.k8s.io");
  const seen = messagesOf(ws);
  await once(ws, "open");
  // The idle timeout, and a second for each port.
  await untilTrue(() => time.sleeping === 3);
  await time.advance(999);
  ws.send(Buffer.from("\x00late"));
  ws.ping();
  await once(ws, "pong");
  assert.deepEqual([...served.keys()], []);
  const closed = once(ws, "close");
  await time.advance(1);
  assert.deepEqual((await closed)[0], 1000);
  assert.deepEqual((await seen).slice(4).sort(), ["0:627965", "2:627965"]);
  assert.deepEqual(Object.fromEntries(served), { 80: "late", 81: "" });
});

test("a client that disconnects aborts the session and ends its connections", async () => {
  const gone = deferred<unknown>();
  await using server = await portServer(
    async (connection) => {
      await assert.rejects(textOf(connection.incoming));
    },
    ({ signal }) => signal.addEventListener("abort", () => gone.resolve(signal.reason)),
  );
  const ws = new WebSocket(`${server.url}/?port=80`, "v4.channel.k8s.io");
  await once(ws, "message");
  ws.terminate();
  assert.match(String(await gone.promise), /disconnected without a close/);
});

async function openTunnel(url: string): Promise<WebSocket> {
  const offered = { subprotocols: [PORT_FORWARD_TUNNEL] };
  const result = await connectWebSocket(url, offered, new AbortController().signal);
  assert.ok(result.outcome === "connected");
  assert.equal(result.subprotocol, PORT_FORWARD_TUNNEL);
  return result.ws;
}

test("a tunnel carries bytes both ways, independent of message boundaries, and ends with a close", async () => {
  const total = 8 << 20;
  await using server = await startUpgradeServer(async (request, socket, head) => {
    const { ws } = await acceptWebSocket(request, socket, head, [PORT_FORWARD_TUNNEL]);
    const tunnel = webSocketTunnel(ws, { clock });
    // The echo; the end of the pipe closes the tunnel.
    tunnel.pipe(tunnel);
    await once(tunnel, "close");
  });
  const ws = await openTunnel(server.url);
  const tunnel = webSocketTunnel(ws, { clock });
  let seen = 0;
  tunnel.on("data", (bytes: Buffer) => {
    assert.ok(bytes.every((byte) => byte === 7));
    seen += bytes.length;
    if (seen === total) tunnel.end();
  });
  for (let sent = 0; sent < total; sent += 1 << 16) {
    if (!tunnel.write(Buffer.alloc(1 << 16, 7))) await once(tunnel, "drain");
  }
  await once(tunnel, "close");
  assert.equal(seen, total);
});

test("a tunnel with a text message is closed with a reason", async () => {
  const closed = deferred<string>();
  await using server = await startUpgradeServer(async (request, socket, head) => {
    const { ws } = await acceptWebSocket(request, socket, head, [PORT_FORWARD_TUNNEL]);
    const tunnel = webSocketTunnel(ws, { clock });
    tunnel.on("error", (error) => closed.resolve(error.message));
    tunnel.resume();
  });
  const ws = await openTunnel(server.url);
  ws.resume();
  ws.send("text");
  await once(ws, "close");
  assert.equal(await closed.promise, "a message in the tunnel is not binary");
});
