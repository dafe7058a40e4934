import assert from "node:assert/strict";
import { describe, test } from "vitest";
import {
  NodeObserver,
  type PodObject,
  type Toleration,
  tolerationSeconds,
} from "../../../src/testbed/outage/node-observer.js";
import { FakeClock, FakeRandom, settle } from "../../support/fake-clock.js";
import { MemoryClient } from "../../support/memory-client.js";
import { only, recordingTrace } from "../../support/trace.js";

const UNREACHABLE = "node.kubernetes.io/unreachable";
const noExecute = { key: UNREACHABLE, effect: "NoExecute" };
const noSchedule = { key: UNREACHABLE, effect: "NoSchedule" };
const exists = (tolerationSeconds?: number, more: Toleration = {}): Toleration => ({
  key: UNREACHABLE,
  operator: "Exists",
  effect: "NoExecute",
  ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
  ...more,
});

describe("how long a pod stays", () => {
  for (const [what, tolerations, taints, want] of [
    ["no NoExecute taint: for ever", [], [noSchedule], undefined],
    ["no toleration: not at all", [], [noExecute], 0],
    ["the default: 300 s", [exists(300)], [noExecute], 300],
    ["a toleration without a time: for ever", [exists()], [noExecute], undefined],
    ["the first that matches counts", [exists(300), exists(20), exists()], [noExecute], 300],
    ["a negative time: not at all", [exists(-5)], [noExecute], 0],
    ["one for another taint does not help", [exists(300, { key: "other" })], [noExecute], 0],
    ["one for another effect does not help", [exists(300, { effect: "NoSchedule" })], [noExecute], 0],
    ["one without key and effect is for all (mirror pods)", [{ operator: "Exists" }], [noExecute], undefined],
    ["all taints must be tolerated", [exists(300)], [noExecute, { key: "x", effect: "NoExecute" }], 0],
  ] as const) {
    test(what, () => {
      const pod: PodObject = { apiVersion: "v1", kind: "Pod", metadata: {}, spec: { tolerations } };
      assert.equal(tolerationSeconds(pod, taints), want);
    });
  }
});

test("what changes is reported, what was there before is not", async () => {
  const clock = new FakeClock();
  const node = (ready: string, taints: object[], resourceVersion: string) => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1", resourceVersion },
    spec: { taints },
    status: { conditions: [{ type: "Ready", status: ready, reason: "R", message: "m" }] },
  });
  const pod = (more: object) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "default", ...more },
  });
  const client = new MemoryClient(({ path }) => ({
    status: 200,
    body: {
      apiVersion: "v1",
      kind: path.endsWith("nodes") ? "NodeList" : path.endsWith("pods") ? "PodList" : "EventList",
      metadata: { resourceVersion: "1" },
      items: path.endsWith("nodes") ? [node("True", [], "1")] : path.endsWith("pods") ? [pod({})] : [],
    },
  }));
  const { trace, events } = recordingTrace(clock);
  const observer = new NodeObserver({ client, clock, trace, random: new FakeRandom() }, "n1", { isOnlyWitness: true });
  const stop = new AbortController();
  const running = observer.run(stop.signal);
  await settle(6);
  assert.deepEqual(events, []);
  observer.expectEviction("default/p", "announced");
  const watchOf = (end: string) => client.watches.find(({ path }) => path.endsWith(end))?.queue;
  const gone = observer.until((view) => view.evicted.has("default/p"), stop.signal);
  watchOf("nodes")?.push({ type: "MODIFIED", object: node("Unknown", [noExecute], "2"), causedBy: "seen" });
  watchOf("pods")?.push({
    type: "MODIFIED",
    object: pod({ deletionTimestamp: "2026-01-01T00:00:30Z", resourceVersion: "3" }),
  });
  watchOf("events")?.push({
    type: "ADDED",
    object: {
      apiVersion: "v1",
      kind: "Event",
      metadata: { resourceVersion: "4" },
      reason: "NodeNotReady",
      message: "m",
      type: "Normal",
      involvedObject: { kind: "Node", name: "n1" },
      source: { component: "node-controller" },
    },
  });
  await gone;
  await settle();
  assert.deepEqual(
    only(events, "state").map(({ what, from, to }) => [what, from, to.split(";")[0]]),
    [
      ["Ready", "True", "Unknown (R: m)"],
      ["taint", undefined, `+ ${UNREACHABLE}:NoExecute`],
      ["deletionTimestamp", undefined, "2026-01-01T00:00:30Z"],
    ],
  );
  assert.deepEqual(
    only(events, "state").map(({ causedBy }) => causedBy),
    ["seen", "seen", "announced"],
  );
  assert.deepEqual(
    only(events, "event").map(({ reason, object }) => [reason, object]),
    [["NodeNotReady", "Node/n1"]],
  );
  stop.abort();
  await running;
  await assert.rejects(
    observer.until(() => false, stop.signal),
    { name: "AbortError" },
  );
});
