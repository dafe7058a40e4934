import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, test } from "vitest";
import { RecordedConnection } from "../../support/tls-records.js";
import { IDENTITIES, Lab } from "./lab.js";

const HEAD = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const FRAMES = Array.from({ length: 40 }, (_, i) => Buffer.from([0x82, 3, 1, 0x30 + i, 10]));

/** A runtime's streaming server that sends all frames at once, on a plain connection. */
const runtime = createServer();
let lab: Lab;
beforeAll(async () => {
  runtime.on("upgrade", (_request, socket) => socket.end(Buffer.concat([Buffer.from(HEAD), ...FRAMES])));
  runtime.listen(0, "127.0.0.1");
  await once(runtime, "listening");
  lab = await Lab.start();
  lab.host.streamUrl = `http://127.0.0.1:${(runtime.address() as AddressInfo).port}/stream`;
});
afterAll(async () => {
  await lab[Symbol.asyncDispose]();
  runtime.closeAllConnections();
  runtime.close();
});

for (const path of [
  "exec/default/web/c?output=1&command=x",
  "attach/default/web/c?output=1",
  "portForward/default/web?port=80",
]) {
  test(`each WebSocket frame of the kubelet begins a TLS record: ${path}`, async () => {
    const { certificatePem: cert, keyPem: key } = IDENTITIES.admin;
    const { port } = lab.server;
    await using client = await RecordedConnection.open({ port, cert, key, rejectUnauthorized: false });
    client.upgrade(`/${path}`, "v4.channel.k8s.io");
    await client.ended();
    assert.equal(client.frames.length, 1 + FRAMES.length, `${client.received}`);
    assert.deepEqual(client.records, client.frames);
  });
}
