import assert from "node:assert/strict";
import { test } from "vitest";
import { ClusterTables } from "../../../src/commands/inspector/cluster-tables.js";
import { Trace } from "../../../src/trace/trace.js";
import { FakeClock, FakeRandom, settle } from "../../support/fake-clock.js";
import { MemoryClient } from "../../support/memory-client.js";

const LISTS: Readonly<Record<string, readonly object[]>> = {
  nodes: [
    { metadata: { name: "n2" }, spec: { unschedulable: true }, status: {} },
    {
      metadata: { name: "n1" },
      spec: { taints: [{ key: "a", effect: "NoSchedule" }] },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    },
  ],
  leases: [
    {
      metadata: { name: "n1", namespace: "kube-node-lease" },
      spec: { holderIdentity: "n1", renewTime: "2026-01-01T00:00:00.123456Z", leaseDurationSeconds: 40 },
    },
    { metadata: { name: "n2", namespace: "kube-node-lease" }, spec: { holderIdentity: "n1" } },
  ],
  pods: [
    { metadata: { name: "web", namespace: "default" }, spec: { nodeName: "n1" }, status: { phase: "Running" } },
    { metadata: { name: "new", namespace: "default" }, spec: {}, status: { phase: "Pending" } },
  ],
};

test("nodes, leases and pods are followed, and what only the page reads is in no trace", async () => {
  const client = new MemoryClient(({ path }) => {
    const resource = path.split("/").at(-1) ?? "";
    const kind = { nodes: "NodeList", leases: "LeaseList", pods: "PodList" }[resource];
    const body = { apiVersion: "v1", kind, metadata: { resourceVersion: "1" }, items: LISTS[resource] ?? [] };
    return { status: 200, body };
  });
  const clock = new FakeClock();
  const cluster = new ClusterTables({ client, clock, random: new FakeRandom(), trace: new Trace(clock) });
  const stop = new AbortController();
  const running = cluster.run(stop.signal);
  const rowsOf = (title: string) => cluster.tables().find((table) => table.title === title)?.rows;
  assert.deepEqual(rowsOf("Nodes"), []);
  await settle(6);
  assert.deepEqual(rowsOf("Nodes"), [
    ["n1", "Ready", "a:NoSchedule"],
    ["n2", "NotReady,SchedulingDisabled", ""],
  ]);
  assert.deepEqual(rowsOf("Leases"), [
    ["n1", "00:00:00.123", "40 s"],
    ["n2, held by n1", "", "0 s"],
  ]);
  assert.deepEqual(rowsOf("Pods"), [
    ["default/new", "none yet", "Pending"],
    ["default/web", "n1", "Running"],
  ]);
  const web = { metadata: { name: "web", namespace: "default", resourceVersion: "2", deletionTimestamp: "x" } };
  const object = { apiVersion: "v1", kind: "Pod", ...LISTS["pods"]?.[0], ...web };
  client.watches.find(({ path }) => path.endsWith("pods"))?.queue.push({ type: "MODIFIED", object });
  await settle(6);
  assert.deepEqual(rowsOf("Pods")?.[1], ["default/web", "n1", "Running, ends"]);
  stop.abort();
  await assert.rejects(running, { name: "AbortError" });
});
