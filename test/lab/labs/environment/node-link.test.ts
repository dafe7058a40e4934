import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, test } from "vitest";
import { NodeLink } from "../../../../src/lab/labs/environment/node-link.js";

/** What the server behind the link answers; undefined: the connection ended without an answer. */
async function answer(url: string): Promise<string | undefined> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {});
  const ended = once(socket, "close").then(() => undefined);
  const data = once(socket, "data").then(([text]) => String(text));
  socket.write("hello");
  const got = await Promise.race([data, ended]);
  socket.destroy();
  return got;
}

test("a link passes connections on, until its control API cuts it and mends it again", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", () => socket.write("here"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await using link = await NodeLink.open(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const post = async (path: string) => (await fetch(`${link.controlUrl}${path}`, { method: "POST" })).status;
    assert.equal(await answer(link.url), "here");

    const open = connect(Number(new URL(link.url).port), "127.0.0.1");
    open.on("error", () => {});
    open.write("hello");
    await once(open, "data");
    const closed = once(open, "close");
    assert.equal(await post("/cut"), 200);
    await closed;
    assert.equal(await answer(link.url), undefined);

    assert.equal(await post("/mend"), 200);
    assert.equal(await answer(link.url), "here");
    assert.equal(await post("/other"), 404);
    assert.equal((await fetch(`${link.controlUrl}/cut`)).status, 404, "a GET changes nothing");
  } finally {
    server.close();
  }
});

test("a link that drops everything keeps its connections, and passes on what waited when it is mended", async () => {
  const received: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (text) => {
      received.push(String(text));
      socket.write(`got ${text}`);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await using link = await NodeLink.open(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const open = () => {
      const socket = connect(Number(new URL(link.url).port), "127.0.0.1");
      const got: string[] = [];
      socket.on("data", (text) => got.push(String(text)));
      return { socket, got };
    };
    const before = open();
    before.socket.write("one");
    await expect.poll(() => before.got).toEqual(["got one"]);
    link.cut("drop");
    const during = open();
    const left = open();
    await Promise.all([during, left].map(({ socket }) => once(socket, "connect")));
    before.socket.write("two");
    during.socket.write("three");
    left.socket.destroy();
    // A round trip through another server of this process: whatever would pass has passed.
    await fetch(`${link.controlUrl}/other`, { method: "POST" });
    assert.deepEqual([received, before.got, during.got], [["one"], ["got one"], []]);
    assert.equal(before.socket.destroyed || during.socket.destroyed, false);
    link.mend();
    await expect.poll(() => [before.got, during.got]).toEqual([["got one", "got two"], ["got three"]]);
    // The server keeps the connection of a client that has left unseen, until the link ends it.
    link.cut("drop");
    before.socket.destroy();
    await once(before.socket, "close");
    link.cut("refuse");
    await expect.poll(() => during.socket.closed).toBe(true);
    await expect.poll(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count)))).toBe(0);
  } finally {
    server.close();
  }
});
