import { connect, constants } from "node:http2";
import type { Server as HttpsServer } from "node:https";
import { expect, test } from "vitest";
import { Http2Face } from "../../../src/staging/server/http2.js";
import { createServer, listen, portOf } from "../../../src/staging/server/serve.js";
import { untilTrue } from "../../support/fake-clock.js";
import { makeAuthority, makeLeaf } from "../../support/https-server.js";

const LIMITS = { headersMs: 10_000, requestMs: 10_000, idleMs: 10_000, maxHeaderBytes: 16_384 };

/** A server whose handlers end when the test calls them. */
async function listenHttp2() {
  const pair = await makeLeaf(await makeAuthority(), { ip: ["127.0.0.1"] });
  const https = createServer({ tls: { pair, http2: true }, ...LIMITS }) as HttpsServer;
  const running: (() => void)[] = [];
  new Http2Face(https, LIMITS, () => new Promise((resolve) => running.push(resolve)));
  await listen(https, "127.0.0.1", 0);
  const close = () => new Promise<void>((resolve) => https.close(() => resolve()));
  return { running, url: `https://127.0.0.1:${portOf(https)}`, [Symbol.asyncDispose]: close };
}

test("a connection has 250 handlers at most, those of reset streams included; a stream that is reset while it waits gets none", async () => {
  await using server = await listenHttp2();
  const session = connect(server.url, { rejectUnauthorized: false });
  const arrived = () => new Promise((resolve) => session.ping(resolve));
  const begin = (count: number) =>
    Array.from({ length: count }, () => session.request({ ":path": "/" }).on("error", () => {}));
  const first = begin(250);
  await untilTrue(() => server.running.length === 250);
  for (const stream of first) stream.close(constants.NGHTTP2_CANCEL);
  await arrived();
  const [, ...late] = begin(20);
  await arrived();
  for (const stream of late) stream.close(constants.NGHTTP2_CANCEL);
  await arrived();
  expect(server.running.length).toBe(250);
  for (const finish of server.running.splice(0)) finish();
  await untilTrue(() => server.running.length > 0);
  await arrived();
  expect(server.running.length).toBe(1);
  session.destroy();
});
