import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished, test } from "vitest";
import { DialingHookClient } from "../../../src/kubelet/lifecycle/hook-http-client.js";
import { NetworkDialer, type ProbeTarget } from "../../../src/kubelet/prober/probe-dialer.js";

const { signal } = new AbortController();

/** A server that keeps what it was asked, and answers 503 with a body, or not at all. */
async function serve(answers = true) {
  const asked: string[] = [];
  let arrive = () => {};
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const server = createServer((request, response) => {
    arrive();
    asked.push(`${request.method} ${request.url} ${request.headers["host"]} ${request.headers["x-hook"] ?? ""}`);
    if (answers) response.writeHead(503).end("busy");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { asked, arrived, port: (server.address() as AddressInfo).port };
}

test("hook client: sends one request with the hook's headers, and accepts any status", async () => {
  const { asked, port } = await serve();
  const dialed: ProbeTarget[] = [];
  const network = new NetworkDialer();
  const client = new DialingHookClient({
    dial: (target, until) => {
      dialed.push(target);
      // The pod's address leads nowhere: its runtime knows the way.
      return network.dial({ ...target, host: "127.0.0.1", port }, until);
    },
    reach: () => Promise.reject(new Error("unused")),
  });
  const headers = [{ name: "X-Hook", value: "a" }];
  const status = await client.get("http://10.0.0.7:8080/bye?now=1", headers, { podUid: "u", isPod: true }, signal);
  assert.equal(status, 503);
  assert.deepEqual(asked, ["GET /bye?now=1 10.0.0.7:8080 a"]);
  assert.deepEqual(dialed, [{ podUid: "u", host: "10.0.0.7", port: 8080, isPod: true }]);
});

test("hook client: a host that may not be dialed is an error in Go's words", async () => {
  const client = new DialingHookClient(new NetworkDialer());
  const asked = client.get("http://192.0.2.1/", [], { podUid: "u", isPod: false }, signal);
  await assert.rejects(asked, {
    message: "dial tcp 192.0.2.1:80: this kubelet dials only this machine and the pods of its node",
  });
});

test("hook client: an abort ends the wait for an answer", async () => {
  const { port, arrived } = await serve(false);
  const stop = new AbortController();
  const asked = new DialingHookClient(new NetworkDialer()).get(
    `http://127.0.0.1:${port}/`,
    [],
    { podUid: "u", isPod: false },
    stop.signal,
  );
  await arrived;
  stop.abort();
  await assert.rejects(asked, { name: "AbortError" });
});
