import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { rfc3339Micro } from "../../../../src/staging/apimachinery/time.js";
import type { KubeRequest } from "../../../../src/staging/client-go/rest/client.js";
import { LeaseController, type LeaseObject } from "../../../../src/staging/component-helpers/lease/controller.js";
import type { LeaseOutcome } from "../../../../src/staging/component-helpers/lease/lease-observer.js";
import { defined } from "../../../../src/util/defined.js";
import { LabError } from "../../../../src/util/errors.js";
import { FakeClock, FakeRandom, START_MS, settle } from "../../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../../support/memory-client.js";
import { only, recordingTrace } from "../../../support/trace.js";

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** Just enough of an API server: one node, one lease, optimistic concurrency. */
class LeaseServer {
  lease: LeaseObject | undefined;
  nodeUid: string | undefined = "node-uid";
  version = 10;
  /** answers these instead, one per request */
  readonly failures: (MemoryAnswer | Error)[] = [];

  answer(request: KubeRequest): MemoryAnswer | Error {
    const failure = this.failures.shift();
    if (failure !== undefined) return failure;
    if (request.path.startsWith("/api/v1/nodes/")) {
      return this.nodeUid === undefined
        ? status(404, "NotFound")
        : { status: 200, body: { metadata: { uid: this.nodeUid } } };
    }
    const sent = request.body as LeaseObject | undefined;
    switch (request.method) {
      case "GET":
        return this.lease === undefined ? status(404, "NotFound") : { status: 200, body: this.lease };
      case "POST":
        return this.lease === undefined ? this.#store(sent, 201) : status(409, "AlreadyExists");
      default: {
        const sentVersion = sent?.metadata.resourceVersion;
        if (this.lease === undefined)
          return sent?.metadata.uid === undefined ? this.#store(sent, 201) : status(409, "Conflict");
        return sentVersion === this.lease.metadata.resourceVersion ? this.#store(sent, 200) : status(409, "Conflict");
      }
    }
  }

  #store(sent: LeaseObject | undefined, code: number): MemoryAnswer {
    assert.ok(sent);
    this.version++;
    this.lease = { ...sent, metadata: { ...sent.metadata, uid: "lease-uid", resourceVersion: String(this.version) } };
    return { status: code, body: this.lease };
  }
}

function status(code: number, reason: string): MemoryAnswer {
  return {
    status: code,
    body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason, message: reason, code },
  };
}

const AWAY = () => new LabError("CLUSTER_UNREACHABLE", "away", "");

function start(options: { jitter?: boolean; float?: number; leaseDurationSeconds?: number } = {}) {
  const clock = new FakeClock();
  const server = new LeaseServer();
  const client = new MemoryClient((request) => server.answer(request));
  const { trace, events } = recordingTrace(clock);
  const stop = new AbortController();
  const controller = new LeaseController(
    { client, clock, trace, random: new FakeRandom(options.float ?? 0.5) },
    {
      nodeName: "n1",
      kubeVersion: "1.25",
      ...defined({ jitter: options.jitter, leaseDurationSeconds: options.leaseDurationSeconds }),
    },
  );
  const outcomes: LeaseOutcome[] = [];
  /** as the agent runs it: a first round, then the loop */
  const run = async () => {
    outcomes.push(await controller.sync(stop.signal));
    for await (const outcome of controller.run(stop.signal)) outcomes.push(outcome);
  };
  const at = () =>
    outcomes.map((one) => (one.type === "failed" ? "failed" : `${one.type} ${one.renewTime.slice(14, 26)}`));
  return { clock, server, client, events, stop, controller, run, at };
}

describe("the lease controller", () => {
  test("creates the lease with the node as its owner, then renews every 10 s by PUT without GET, and stops on abort", async () => {
    const { clock, server, client, stop, run, at } = start();
    const done = run();
    await clock.advance(25_000);
    assert.deepEqual(at(), ["created 00:00.000000", "renewed 00:10.000000", "renewed 00:20.000000"]);
    assert.deepEqual(client.lines, [
      `GET ${LEASE}/n1`,
      "GET /api/v1/nodes/n1",
      `POST ${LEASE}`,
      `PUT ${LEASE}/n1`,
      `PUT ${LEASE}/n1`,
    ]);
    assert.deepEqual(client.requests[2]?.body, {
      kind: "Lease",
      apiVersion: "coordination.k8s.io/v1",
      metadata: {
        name: "n1",
        namespace: "kube-node-lease",
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n1", uid: "node-uid" }],
      },
      spec: { holderIdentity: "n1", leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.000000Z" },
    });
    assert.ok(client.requests.every(({ query }) => query?.["timeout"] === "10s"));
    assert.equal(server.lease?.spec.renewTime, rfc3339Micro(START_MS + 20_000));
    stop.abort();
    await assert.rejects(done, { name: "AbortError" });
    assert.equal(clock.sleeping, 0);
  });

  test("renews after a quarter of nodeLeaseDurationSeconds, and quotes what holds", async () => {
    const { clock, server, events, controller, stop, run, at } = start({ leaseDurationSeconds: 20 });
    await controller.syncOnce(stop.signal);
    const [decision] = only(events, "decision");
    assert.equal(decision?.what, "the next renewal is due in 5 s");
    assert.deepEqual(decision?.constants, [
      { name: "leaseDurationSeconds", value: "20 s" },
      { name: "renewInterval", value: "5 s" },
    ]);
    assert.equal(server.lease?.spec.leaseDurationSeconds, 20);
    const done = run();
    await clock.advance(11_000);
    assert.deepEqual(at(), ["renewed 00:00.000000", "renewed 00:05.000000", "renewed 00:10.000000"]);
    stop.abort();
    await assert.rejects(done, { name: "AbortError" });
  });

  test("finds an existing lease of any creator and renews it", async () => {
    const { server, client, controller, stop } = start();
    server.lease = {
      apiVersion: "v1",
      kind: "Lease",
      metadata: { name: "n1", resourceVersion: "7", uid: "u" },
      spec: { holderIdentity: "other" },
    };
    assert.equal((await controller.sync(stop.signal)).type, "renewed");
    assert.equal(server.lease.spec.holderIdentity, "other");
    assert.deepEqual(client.lines, [`GET ${LEASE}/n1`, "GET /api/v1/nodes/n1", `PUT ${LEASE}/n1`]);
    assert.equal(server.lease.metadata.ownerReferences?.[0]?.uid, "node-uid");
  });

  test("without a node no lease is created before the next round", async () => {
    const { clock, server, client, stop, run, at } = start();
    server.nodeUid = undefined;
    const done = run();
    await clock.advance(0);
    assert.deepEqual(at(), ["failed"]);
    assert.deepEqual(client.lines, [`GET ${LEASE}/n1`, "GET /api/v1/nodes/n1"]);
    server.nodeUid = "u";
    await clock.advance(10_000);
    assert.deepEqual(at(), ["failed", "created 00:10.000000"]);
    stop.abort();
    await assert.rejects(done);
  });

  test("backs off 0.2, 0.4, ... 7, 7 s while it cannot get the Lease", async () => {
    const { clock, server, client, stop, run } = start();
    for (let i = 0; i < 9; i++) server.failures.push(AWAY());
    const done = run();
    const asked: number[] = [];
    for (let step = 0, count = 0; step < 400; step++) {
      await clock.advance(100);
      for (; count < client.requests.length; count++) asked.push(step * 100);
      if (server.lease !== undefined) break;
    }
    const gaps = asked.slice(1, 10).map((ms, i) => ms - (asked[i] ?? 0));
    assert.deepEqual(
      gaps,
      [200, 400, 800, 1600, 3200, 6400, 7000, 7000, 7000].map((ms, i) => (i === 0 ? ms - 100 : ms)),
    );
    stop.abort();
    await assert.rejects(done);
  });

  test("a conflict: gets the lease and writes on top of it, at once", async () => {
    const { clock, server, client, stop, run, at } = start();
    const done = run();
    await clock.advance(5_000);
    assert.ok(server.lease);
    server.lease = { ...server.lease, metadata: { ...server.lease.metadata, resourceVersion: "999" } };
    const before = client.requests.length;
    await clock.advance(5_000);
    assert.deepEqual(client.lines.slice(before), [`PUT ${LEASE}/n1`, `GET ${LEASE}/n1`, `PUT ${LEASE}/n1`]);
    assert.deepEqual(at(), ["created 00:00.000000", "renewed 00:10.000000"]);
    stop.abort();
    await assert.rejects(done);
  });

  test("the node and its lease were deleted: PUT creates the lease again, without an owner (as recorded)", async () => {
    const { clock, server, client, stop, run } = start();
    const done = run();
    await clock.advance(5_000);
    server.lease = undefined;
    server.nodeUid = undefined;
    const before = client.requests.length;
    await clock.advance(5_000);
    assert.deepEqual(client.lines.slice(before), [
      `PUT ${LEASE}/n1`,
      `GET ${LEASE}/n1`,
      "GET /api/v1/nodes/n1",
      "GET /api/v1/nodes/n1",
      `PUT ${LEASE}/n1`,
    ]);
    const made = server.lease as LeaseObject | undefined;
    assert.deepEqual(Object.keys(made?.metadata ?? {}).sort(), ["name", "namespace", "resourceVersion", "uid"]);
    stop.abort();
    await assert.rejects(done);
  });

  test("five failed updates in a row, then the lease is fetched and five more follow", async () => {
    const { clock, server, client, stop, run, at } = start();
    const done = run();
    await clock.advance(5_000);
    const before = client.requests.length;
    for (let i = 0; i < 5; i++) server.failures.push(status(500, "InternalError"));
    await clock.advance(5_000);
    const put = `PUT ${LEASE}/n1`;
    assert.deepEqual(client.lines.slice(before), [put, put, put, put, put, `GET ${LEASE}/n1`, put]);
    assert.equal(at()[1], "renewed 00:10.000000");
    stop.abort();
    await assert.rejects(done);
  });

  test("an abort inside the backoff leaves no timer", async () => {
    const { clock, server, stop, run } = start();
    server.failures.push(AWAY());
    const done = run();
    await settle();
    assert.equal(clock.sleeping, 1);
    stop.abort();
    await assert.rejects(done, { name: "AbortError" });
    assert.equal(clock.sleeping, 0);
  });

  test("403 before the first lease ends it with a sentence", async () => {
    const { server, controller, stop } = start();
    server.failures.push(status(403, "Forbidden"));
    await assert.rejects(controller.sync(stop.signal), { code: "FORBIDDEN", message: /does not let n1 renew/ });
  });

  test.each([
    ["a certificate of another CA", () => new LabError("CLUSTER_NOT_TRUSTED", "shows another certificate", "")],
    ["403", () => status(403, "Forbidden")],
  ])("%s after the first lease is retried", async (_, failure) => {
    const { clock, server, stop, run, at } = start();
    const done = run();
    await clock.advance(5_000);
    // Five updates and the GET after them.
    for (let i = 0; i < 6; i++) server.failures.push(failure());
    await clock.advance(6_000);
    assert.deepEqual(at(), ["created 00:00.000000", "renewed 00:10.200000"]);
    stop.abort();
    await assert.rejects(done, { name: "AbortError" });
  });

  test("a retry is reported with its wait", async () => {
    const { clock, server, events, stop, run } = start();
    server.failures.push(AWAY());
    const done = run();
    await clock.advance(200);
    assert.deepEqual(
      only(events, "error").map(({ hint }) => hint),
      ["trying again in 200 ms"],
    );
    stop.abort();
    await assert.rejects(done);
  });

  for (const [jitter, float, ms] of [
    [false, 0.9, 10_000],
    [true, 0, 10_000],
    [true, 0.5, 10_200],
    [true, 0.999, 10_399.6],
  ] as const) {
    test(`the next renewal with jitter ${jitter} and chance ${float} comes after ${ms} ms`, () => {
      assert.equal(Math.round(start({ jitter, float }).controller.nextSleepMs() * 10) / 10, ms);
    });
  }
});
