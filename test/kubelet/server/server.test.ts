import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { KubeletServer } from "../../../src/kubelet/server/server.js";
import { formatTraceparent } from "../../../src/trace/traceparent.js";
import { SystemClock } from "../../../src/util/clock.js";
import { HttpsClient } from "../../support/https-client.js";
import { makeLeaf } from "../../support/https-server.js";
import { only, recordingTrace } from "../../support/trace.js";
import { FakeHost } from "./fake-host.js";
import { IDENTITIES, Lab } from "./lab.js";

const clock = new SystemClock();
const { servingCa, serving, admin } = IDENTITIES;

/** A promise, and what resolves it. */
function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe("kubelet server: as a whole", () => {
  test("a new certificate is shown to new connections, and identities count as before", async () => {
    await using lab = await Lab.start();
    const renewed = await makeLeaf(servingCa, { commonName: "renewed" });
    lab.server.useCertificate(renewed);
    const socket = await lab.client(admin).connect();
    assert.equal(socket.getPeerCertificate().subject.CN, "renewed");
    socket.destroy();
    assert.equal((await lab.client(admin).ask("/healthz")).text, "ok");
  });

  test("without TLS and authentication, for a server that no other process can reach", async () => {
    const host = new FakeHost();
    const { trace } = recordingTrace(clock);
    await using server = await KubeletServer.listen({ host, clock, trace }, { port: 0, transport: "http" });
    assert.equal(await (await fetch(`${server.url}/healthz`)).text(), "ok");
  });

  test("reports a port that is taken", async () => {
    await using lab = await Lab.start();
    const { trace } = recordingTrace(clock);
    const deps = { host: lab.host, clock, trace };
    await assert.rejects(KubeletServer.listen(deps, { port: lab.server.port, transport: "http" }), {
      code: "USAGE",
      message: `the kubelet's server cannot listen at 127.0.0.1:${lab.server.port}: the port is taken`,
    });
  });

  test("reports an invalid pair", async () => {
    const { trace } = recordingTrace(clock);
    const pair = { certificatePem: "x", keyPem: "y" };
    const listening = KubeletServer.listen({ host: new FakeHost(), clock, trace }, { port: 0, transport: { pair } });
    await assert.rejects(listening, { code: "BAD_FILE" });
  });

  test("without a certificate connections fail, until it has one", async () => {
    const { trace } = recordingTrace(clock);
    await using server = await KubeletServer.listen({ host: new FakeHost(), clock, trace }, { port: 0, transport: {} });
    using client = new HttpsClient({ url: server.url, ca: servingCa.certificatePem } as ConstructorParameters<
      typeof HttpsClient
    >[0]);
    await assert.rejects(client.ask("/healthz"));
    server.useCertificate(serving);
    assert.equal((await client.ask("/healthz")).text, "ok");
  });

  test("closing ends a log that is followed, on both sides", async () => {
    await using lab = await Lab.start();
    const over = deferred();
    lab.host.log = async function* (signal) {
      yield { stream: "stdout", bytes: Buffer.from("first\n") };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      over.resolve();
    };
    const response = await lab.client(admin).open("/containerLogs/default/web/c?follow=true");
    const broken = new Promise((resolve) => response.once("error", resolve));
    response.resume();
    await lab.server.close();
    await lab.server.close();
    await Promise.all([over.promise, broken]);
  });

  test("a client that goes away ends the log that it followed", async () => {
    await using lab = await Lab.start();
    const over = deferred();
    lab.host.log = async function* (signal) {
      yield { stream: "stdout", bytes: new Uint8Array() };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      over.resolve();
    };
    const response = await lab.client(admin).open("/containerLogs/default/web/c?follow=true");
    assert.equal(response.statusCode, 200, "an empty piece begins the answer");
    response.destroy();
    await over.promise;
  });

  test("who reads a log slowly slows down its reader", async () => {
    await using lab = await Lab.start();
    let asked = 0;
    lab.host.log = async function* () {
      for (; asked < 10_000; asked++) yield { stream: "stdout", bytes: Buffer.alloc(64 * 1024) };
    };
    const response = await lab.client(admin).open("/containerLogs/default/web/c");
    let before = -1;
    // Until nothing moves any more: the buffers on the way are full.
    while (before !== asked) {
      before = asked;
      for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(asked < 1000, `${asked} pieces of 64 KB were asked for`);
    response.destroy();
  });

  test("a log that breaks after its beginning ends with the error", async () => {
    await using lab = await Lab.start();
    const { LogError } = await import("../../../src/kubelet/kuberuntime/logs/options.js");
    lab.host.log = async function* () {
      yield { stream: "stdout", bytes: new Uint8Array() };
      throw new LogError("unable to retrieve container logs for containerd://x");
    };
    const begun = await lab.client(admin).ask("/containerLogs/default/web/c");
    assert.deepEqual([begun.status, begun.text], [200, "unable to retrieve container logs for containerd://x"]);
    // biome-ignore lint/correctness/useYield: it fails before
    lab.host.log = async function* () {
      throw new LogError('container "c" in pod "web" is waiting to start: ContainerCreating');
    };
    const refused = await lab.client(admin).ask("/containerLogs/default/web/c");
    assert.deepEqual(
      [refused.status, refused.text],
      [400, 'container "c" in pod "web" is waiting to start: ContainerCreating'],
    );
  });
});

test("a request is caused by the fact that its client names; another begins a chain", async () => {
  const host = new FakeHost();
  const { trace, events } = recordingTrace(clock);
  await using server = await KubeletServer.listen({ host, clock, trace }, { port: 0, transport: "http" });
  const url = `${server.url}/containerLogs/default/web/app`;
  const id = "00f067aa0ba902b7";
  await (await fetch(url, { headers: { traceparent: formatTraceparent(id) } })).text();
  await (await fetch(url)).text();
  await (await fetch(url, { headers: { traceparent: `00-4bf92f3577b34da6a3ce929d0e0e4736-${id}-01` } })).text();
  const steps = only(events, "step").map(({ causedBy, origin }) => causedBy ?? origin);
  assert.deepEqual(steps, [id, "client", "client"]);
});
