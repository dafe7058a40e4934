import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { registerWithApiServer } from "../../../src/kubelet/nodestatus/register.js";
import { LabError } from "../../../src/util/errors.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../support/memory-client.js";
import { only, recordingTrace } from "../../support/trace.js";

const NODE = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" }, spec: {} };
const TROUBLE: readonly [string, MemoryAnswer | Error][] = [
  ["no connection", new LabError("CLUSTER_UNREACHABLE", "connection refused", "Start it.")],
  ["500", { status: 500, body: { kind: "Status", message: "etcd is away" } }],
  ["429", { status: 429, body: { kind: "Status", message: "too many" } }],
];

function start(answer: () => MemoryAnswer | Error, maxAttempts?: number) {
  const clock = new FakeClock();
  const { trace, events } = recordingTrace(clock);
  const client = new MemoryClient(answer);
  const stop = new AbortController();
  const options = { kubeVersion: "1.25", maxAttempts };
  const done = registerWithApiServer({ client, clock, trace }, NODE, options, stop.signal);
  done.catch(() => {});
  return { clock, events, client, stop, done };
}

describe("registration", () => {
  for (const [what, trouble] of TROUBLE) {
    test(`${what}: tried again without an end, later each time, up to 7 s`, async () => {
      let answer = trouble;
      const { clock, events, client, done } = start(() => answer);
      await settle();
      await clock.advance(3_600_000);
      const hints = only(events, "error").map(({ hint }) => hint?.replace("trying again in ", ""));
      assert.deepEqual(hints.slice(0, 9), [
        "100 ms",
        "200 ms",
        "400 ms",
        "800 ms",
        "1600 ms",
        "3200 ms",
        "6400 ms",
        "7 s",
        "7 s",
      ]);
      assert.ok(client.requests.length > 500, `${client.requests.length}`);
      answer = { status: 201, body: NODE };
      await clock.advance(7_000);
      assert.equal((await done).isNew, true);
      assert.equal(clock.sleeping, 0);
    });
  }

  test("a taint of the node's own is not told as admission's", async () => {
    const own = { key: "kubelab/lab", effect: "NoSchedule" };
    const added = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };
    const clock = new FakeClock();
    const { trace, events } = recordingTrace(clock);
    const client = new MemoryClient(() => ({ status: 201, body: { ...NODE, spec: { taints: [own, added] } } }));
    const node = { ...NODE, spec: { taints: [own] } };
    await registerWithApiServer({ client, clock, trace }, node, { kubeVersion: "1.25" }, new AbortController().signal);
    const [state] = only(events, "state");
    assert.equal(
      state?.to,
      "registered, with the taint node.kubernetes.io/not-ready:NoSchedule: the API server's admission put it there",
    );
  });

  test("a Node that exists gets the well-known labels, and keeps the others", async () => {
    const zone = "topology.kubernetes.io/zone";
    const existing = { ...NODE, metadata: { name: "n1", labels: { [zone]: "a", disk: "hdd" } } };
    const client = new MemoryClient(({ method }) =>
      method === "POST"
        ? { status: 409, body: { kind: "Status", message: "exists" } }
        : { status: 200, body: existing },
    );
    const clock = new FakeClock();
    const node = { ...NODE, metadata: { name: "n1", labels: { [zone]: "b", disk: "ssd" } } };
    const signal = new AbortController().signal;
    await registerWithApiServer(
      { client, clock, trace: recordingTrace(clock).trace },
      node,
      { kubeVersion: "1.25" },
      signal,
    );
    const { method, body } = client.requests.at(-1) ?? {};
    assert.deepEqual([method, body], ["PATCH", { metadata: { labels: { [zone]: "b" } } }]);
  });

  test("an interactive command gives up after maxAttempts", async () => {
    const { clock, client, done } = start(() => ({ status: 500, body: { kind: "Status", message: "away" } }), 6);
    await clock.advance(60_000);
    await assert.rejects(done, { code: "REFUSED" });
    assert.equal(client.requests.length, 6);
  });

  for (const [status, code] of [
    [401, "UNAUTHORIZED"],
    [403, "FORBIDDEN"],
    [422, "REFUSED"],
  ] as const) {
    test(`${status}: a kubelet tries again, and registers once it is mended`, async () => {
      let isMended = false;
      const { clock, client, done } = start(() =>
        isMended ? { status: 201, body: NODE } : { status, body: { kind: "Status", message: "no" } },
      );
      await clock.advance(20_000);
      assert.ok(client.requests.length > 5);
      isMended = true;
      await clock.advance(10_000);
      await done;
    });

    test(`${status} is final for an interactive command`, async () => {
      const { client, done } = start(() => ({ status, body: { kind: "Status", message: "no" } }), 6);
      await assert.rejects(done, { code });
      assert.equal(client.requests.length, 1);
    });
  }

  test("ends with the abort, and leaves no timer", async () => {
    const { clock, stop, done } = start(() => ({ status: 503, body: "" }));
    await settle();
    stop.abort();
    await assert.rejects(done, { name: "AbortError" });
    assert.equal(clock.sleeping, 0);
  });
});
