import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { test } from "vitest";
import { joinSockets } from "../../../src/staging/streaming/join.js";
import { FakeClock, settle, untilTrue } from "../../support/fake-clock.js";
import { socketPair } from "./spdy-support.js";

const NO_HEADS = { client: Buffer.alloc(0), server: Buffer.alloc(0) };

/** `client` and `server` are the outer ends; the joint is between the inner ones. */
async function joined(heads = NO_HEADS) {
  const [left, right] = [await socketPair(), await socketPair()];
  const stop = new AbortController();
  const clock = new FakeClock();
  const over = joinSockets(left.far, right.far, heads, clock, stop.signal);
  for (const socket of [left.near, right.near]) socket.on("error", () => socket.destroy());
  return { client: left.near, server: right.near, near: [left.far, right.far], clock, over, stop };
}

async function textOf(socket: Socket): Promise<string> {
  let text = "";
  for await (const bytes of socket) text += String(bytes);
  return text;
}

for (const first of ["client", "server"] as const) {
  test(`bytes go both ways until the ${first} ends; bytes under way still arrive`, async () => {
    const pair = await joined({ client: Buffer.from("early "), server: Buffer.from("first ") });
    const [one, other] = first === "client" ? [pair.client, pair.server] : [pair.server, pair.client];
    other.write("there");
    const [word] = (await once(one, "data")) as [Buffer];
    assert.match(String(word), first === "client" ? /^first / : /^early /);
    const heard = textOf(other);
    one.end("back");
    assert.equal(await heard, first === "client" ? "early back" : "first back");
    other.end();
    const { fromClient, toClient } = await pair.over;
    const sizes = { client: "early ".length, server: "first ".length };
    assert.equal(fromClient, sizes.client + (first === "client" ? 4 : 5));
    assert.equal(toClient, sizes.server + (first === "client" ? 5 : 4));
  });
}

test("a slow reader slows the other side down, and gets everything", async () => {
  const { client, server, near, over } = await joined();
  // More than the system's buffers can hold.
  const bytes = Buffer.alloc(64 << 20);
  client.end(bytes);
  await untilTrue(() => near.some((socket) => socket.isPaused()));
  await settle(10);
  assert.ok(near.every((socket) => socket.writableLength < 1 << 20));
  let received = 0;
  server.on("data", (piece: Buffer) => {
    received += piece.length;
  });
  assert.equal((await over).fromClient, bytes.length);
  await untilTrue(() => received === bytes.length);
});

test("a client that writes after the server's end still reads the last message, and can close by itself", async () => {
  const { client, server, clock, over } = await joined();
  client.pause();
  server.end("last words");
  await untilTrue(() => clock.sleeping === 1);
  // A reset would fail one of these.
  for (let i = 0; i < 20; i++) {
    client.write("more");
    await settle();
  }
  assert.equal(await textOf(client), "last words");
  client.end();
  await over;
  assert.equal(clock.sleeping, 0);
});

test("a client that never closes is disconnected after a second", async () => {
  const { client, server, clock, over } = await joined();
  client.allowHalfOpen = true;
  client.resume();
  server.end();
  await untilTrue(() => clock.sleeping === 1);
  await clock.advance(1_000);
  await over;
  client.destroy();
});

test("a server's output is read even if it no longer reads", async () => {
  const [left, right] = [await socketPair(), await socketPair()];
  for (const socket of [left.near, right.near]) socket.on("error", () => socket.destroy());
  const heard = textOf(left.near);
  // After one turn of the loop the last message and the reset have arrived unread, and the next write fails.
  right.near.write("last words");
  right.near.resetAndDestroy();
  const heads = { client: Buffer.from("more input"), server: Buffer.alloc(0) };
  const over = joinSockets(left.far, right.far, heads, new FakeClock(), new AbortController().signal);
  assert.equal(await heard, "last words");
  await over;
});

test("two sides that no longer read do not wait for each other", async () => {
  const { client, server, near, over } = await joined();
  client.pause();
  server.pause();
  for (const side of [client, server]) side.write(Buffer.alloc(64 << 20));
  await untilTrue(() => near.every((socket) => socket.isPaused()));
  client.resetAndDestroy();
  server.resetAndDestroy();
  await over;
});

for (const [what, end] of [
  ["the client breaks", ({ client }) => client.resetAndDestroy()],
  ["the server breaks", ({ server }) => server.resetAndDestroy()],
  ["the signal aborts", ({ stop }) => stop.abort()],
] as readonly (readonly [string, (pair: Awaited<ReturnType<typeof joined>>) => void])[]) {
  test(`both are closed when ${what}`, async () => {
    const pair = await joined();
    const closed = [pair.client, pair.server].map((socket) => {
      socket.resume();
      return once(socket, "close");
    });
    end(pair);
    assert.deepEqual(await pair.over, { fromClient: 0, toClient: 0 });
    await Promise.all(closed);
  });
}

test("a side that is already closed ends the other", async () => {
  const [left, right] = [await socketPair(), await socketPair()];
  left.far.destroy();
  await once(left.far, "close");
  const closed = once(right.near.resume(), "close");
  await joinSockets(left.far, right.far, NO_HEADS, new FakeClock(), new AbortController().signal);
  await closed;
  left.near.destroy();
});
