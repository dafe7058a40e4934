import assert from "node:assert/strict";
import { test } from "vitest";
import { StreamError } from "../../../../src/staging/streaming/bytes.js";
import { acceptWebSocket } from "../../../../src/staging/streaming/websocket/accept.js";
import { connectWebSocket } from "../../../../src/staging/streaming/websocket/connect.js";
import { deferred, startUpgradeServer } from "../support/upgrade-server.js";

test("accept rejects if the client disconnects before the handshake", async () => {
  const accepted = deferred<unknown>();
  await using server = await startUpgradeServer(async (request, socket, head) => {
    socket.destroy();
    await new Promise((resolve) => socket.once("close", resolve));
    accepted.resolve(await acceptWebSocket(request, socket, head, [""]).catch((error: unknown) => error));
  });
  const signal = new AbortController().signal;
  await assert.rejects(connectWebSocket(server.url, { subprotocols: [] }, signal), StreamError);
  const error = await accepted.promise;
  assert.ok(error instanceof StreamError);
  assert.equal(error.message, "the client disconnected before the handshake");
});
