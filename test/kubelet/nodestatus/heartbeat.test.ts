import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { setDefaults } from "../../../src/kubelet/apis/config/defaults.js";
import { type HeartbeatOptions, NodeStatusHeartbeat } from "../../../src/kubelet/nodestatus/heartbeat.js";
import {
  initialNode,
  RUNTIME_NOT_CHECKED,
  type StatusInputs,
  setNodeStatus,
} from "../../../src/kubelet/nodestatus/setters.js";
import type { NodeObject } from "../../../src/staging/apimachinery/api/node.js";
import type { KubeRequest } from "../../../src/staging/client-go/rest/client.js";
import { FakeClock } from "../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../support/memory-client.js";
import { only, recordingTrace } from "../../support/trace.js";

const machine = {
  machineId: "m",
  bootId: "b",
  kernelVersion: "k",
  osImage: "o",
  operatingSystem: "linux",
  architecture: "amd64",
  addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
};

function start(frequencies: Pick<HeartbeatOptions, "updateFrequencyMs" | "reportFrequencyMs"> = {}) {
  const clock = new FakeClock();
  const inputs: Omit<StatusInputs, "nowMs"> = {
    nodeName: "n1",
    resources: { cpu: "4", memory: "8Gi", pods: "110" },
    reservations: setDefaults({}, "1.25"),
    machine,
    kubeletVersion: "v1.25.0",
    health: { problems: [] },
  };
  let node: NodeObject | undefined = initialNode({
    ...inputs,
    health: { problems: [RUNTIME_NOT_CHECKED] },
    nowMs: clock.now(),
  });
  const failures: (MemoryAnswer | undefined)[] = [];
  const client = new MemoryClient(({ method, body }: KubeRequest) => {
    const failure = failures.shift();
    if (failure !== undefined) return failure;
    if (node === undefined) return { status: 404, body: { kind: "Status", message: 'nodes "n1" not found' } };
    // Merging is the API server's business: the status that was meant is as good here.
    if (method === "PATCH")
      node = { ...node, status: setNodeStatus(node.status ?? {}, { ...inputs, nowMs: clock.now() }) };
    return { status: 200, body: method === "PATCH" ? node : (body ?? node) };
  });
  const { trace, events } = recordingTrace(clock);
  const ready: string[] = [];
  const heartbeat = new NodeStatusHeartbeat(
    { client, clock, trace },
    {
      nodeName: "n1",
      kubeVersion: "1.25",
      ...frequencies,
      setStatus: (before, nowMs) => setNodeStatus(before, { ...inputs, nowMs }),
      onCondition: ({ type, status }) => ready.push(`${type} ${status}`),
    },
  );
  const gone = () => {
    node = undefined;
  };
  const unknown = () => {
    assert.ok(node);
    const conditions = (node.status?.conditions ?? []).map((one) => ({ ...one, status: "Unknown" as const }));
    node = { ...node, status: { ...node.status, conditions } };
  };
  const patches = () => client.lines.filter((line) => line.startsWith("PATCH")).length;
  return { clock, client, events, heartbeat, failures, gone, unknown, patches, ready };
}

describe("node status heartbeats", () => {
  test("the first makes the node Ready; then it is looked at every 10 s and written every 5 minutes", async () => {
    const { clock, client, heartbeat, patches, ready } = start();
    const stop = new AbortController();
    assert.equal(await heartbeat.update(stop.signal), "patched");
    assert.deepEqual(ready, ["Ready True"]);
    const done = heartbeat.run(stop.signal);
    await clock.advance(299_000);
    assert.equal(client.requests.length, 2 + 29);
    assert.equal(patches(), 1);
    await clock.advance(1_000);
    assert.equal(patches(), 2);
    const patch = client.requests.at(-1)?.body as { status: { conditions: object[] } };
    assert.deepEqual(patch.status.conditions[0], { type: "MemoryPressure", lastHeartbeatTime: "2026-01-01T00:05:00Z" });
    await clock.advance(300_000);
    assert.equal(patches(), 3);
    stop.abort();
    await assert.rejects(done, { name: "AbortError" });
    assert.equal(clock.sleeping, 0);
  });

  test("nodeStatusUpdateFrequency and nodeStatusReportFrequency are those of the configuration", async () => {
    const { clock, client, heartbeat, patches, events } = start({ updateFrequencyMs: 3_000, reportFrequencyMs: 6_000 });
    const stop = new AbortController();
    await heartbeat.update(stop.signal);
    const done = heartbeat.run(stop.signal);
    await clock.advance(5_000);
    assert.deepEqual([client.requests.length, patches()], [3, 1]);
    await clock.advance(1_000);
    assert.equal(patches(), 2);
    assert.deepEqual(only(events, "decision")[0]?.constants, [
      { name: "nodeStatusUpdateFrequency", value: "3 s" },
      { name: "nodeStatusReportFrequency", value: "6 s" },
    ]);
    stop.abort();
    await assert.rejects(done, { name: "AbortError" });
  });

  test("each write has its reason, and so does a check without a write", async () => {
    const { clock, client, heartbeat, patches, events } = start();
    const { signal } = new AbortController();
    const reasons = () => only(events, "decision").map(({ why }) => why);
    await heartbeat.update(signal);
    await clock.advance(300_000);
    await heartbeat.update(signal);
    assert.deepEqual(reasons(), [
      "it differs from what the API server has",
      "the report period is over, nothing changed",
    ]);

    const again = new NodeStatusHeartbeat({ client, clock, trace: heartbeat.deps.trace }, heartbeat.options);
    assert.equal(await again.update(signal), "unchanged");
    assert.equal(patches(), 2);
    assert.match(reasons().at(-1) ?? "", /already has this status/);
    await clock.advance(10_000);
    const restarted = new NodeStatusHeartbeat({ client, clock, trace: heartbeat.deps.trace }, heartbeat.options);
    assert.equal(await restarted.update(signal), "patched");
    assert.match(reasons().at(-1) ?? "", /this kubelet has just started and has not reported its status yet/);
  });

  test("a change by another client is corrected at the next check, long before 5 minutes", async () => {
    const { clock, heartbeat, patches, unknown, ready } = start();
    const stop = new AbortController();
    await heartbeat.update(stop.signal);
    const done = heartbeat.run(stop.signal);
    unknown();
    await clock.advance(10_000);
    assert.equal(patches(), 2);
    const pressures = ["MemoryPressure False", "DiskPressure False", "PIDPressure False"];
    assert.deepEqual(ready, ["Ready True", ...pressures, "Ready True"]);
    stop.abort();
    await assert.rejects(done);
  });

  test("only the first look may come from the cache; five attempts, then the next heartbeat", async () => {
    const { client, heartbeat, gone, events } = start();
    gone();
    assert.equal(await heartbeat.update(new AbortController().signal), "failed");
    assert.deepEqual(
      client.requests.map(({ query }) => query?.["resourceVersion"]),
      ["0", undefined, undefined, undefined, undefined],
    );
    assert.match(only(events, "error")[0]?.message ?? "", /5 attempts: nodes "n1" not found/);
  });

  test("a conflict is tried again from the store", async () => {
    const { client, heartbeat, failures } = start();
    failures.push(undefined, { status: 409, body: { kind: "Status", message: "conflict" } });
    assert.equal(await heartbeat.update(new AbortController().signal), "patched");
    assert.deepEqual(client.lines, [
      "GET /api/v1/nodes/n1",
      "PATCH /api/v1/nodes/n1/status",
      "GET /api/v1/nodes/n1",
      "PATCH /api/v1/nodes/n1/status",
    ]);
  });
});
