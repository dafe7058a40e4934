import assert from "node:assert/strict";
import { test } from "vitest";
import type { NodeObject } from "../../src/apimachinery/api/node.js";
import { nodeCondition } from "../../src/apimachinery/api/node.js";
import { collectionPath, NODES, objectPath } from "../../src/client-go/rest/paths.js";
import { SystemClock } from "../../src/util/clock.js";
import { only, recordingTrace } from "../support/trace.js";
import { Lab, SPEED } from "./scenarios/lab.js";
import { NODE_NAME } from "./scenarios/lab-node.js";

const { signal } = new AbortController();

test("start-up: each part says which upstream function starts it, and when it acts, in upstream's order", async () => {
  const clock = new SystemClock(SPEED);
  const { trace, events } = recordingTrace(clock);
  const fields = { nodeStatusUpdateFrequency: "5s", nodeLeaseDurationSeconds: 20, imageGCHighThresholdPercent: 100 };
  const lab = await Lab.start({ config: { ...fields, staticPodPath: "/nowhere" } }, { clock, trace });
  await lab.close();
  const started = only(events, "state").filter(({ what }) => what === "starts");
  assert.deepEqual(
    started.map(
      ({ subject, to, upstream }) => `${upstream?.func}: ${subject}: ${to.replace(lab.node.rootDir, "ROOT")}`,
    ),
    [
      "NewMainKubelet: pod sources: /nowhere every 20 s, the API server by a watch",
      "NewMainKubelet: service lister: watches",
      "NewMainKubelet: node lister: watches",
      "NewMainKubelet: secret and config map managers: watch what pods name",
      "StartGarbageCollection: garbage collection: containers every 60 s, images off",
      "initializeModules: image manager: detects images every 5 min, lists them every 30 s",
      "Run: node status and Lease: status every 5 s, Lease every 5 s",
      "Run: runtime check: every 5 s",
      "Run: status manager: on changes, and every 10 s",
      "Run: PLEG: every 1 s",
      "initializeRuntimeDependentModules: device manager: plugins register at ROOT/device-plugins/kubelet.sock",
      "initializeRuntimeDependentModules: eviction manager: every 10 s",
      "initializeRuntimeDependentModules: container log manager: every 10 s",
      "Run: sync loop: on events, and every 1 s",
    ],
  );
});

test("start-up: with registerNode false the kubelet waits for a Node that another client creates", async () => {
  const lab = await Lab.start({ config: { registerNode: false } });
  try {
    const missing = await lab.client.request({ method: "GET", path: objectPath(NODES, NODE_NAME), signal });
    assert.equal(missing.status, 404);
    const body = { apiVersion: "v1", kind: "Node", metadata: { name: NODE_NAME } };
    await lab.client.expect({ method: "POST", path: collectionPath(NODES), body });
    const node = () => lab.client.expect<NodeObject>({ method: "GET", path: objectPath(NODES, NODE_NAME) });
    let ready: string | undefined;
    while (ready !== "True") ready = nodeCondition(await node(), "Ready")?.status;
  } finally {
    await lab.close();
  }
});

test("start-up: an abort ends it, and the next start finds nothing in its way", async () => {
  const lab = await Lab.start();
  try {
    await lab.node.stop();
    const stop = new AbortController();
    const starting = lab.node.start(stop.signal);
    stop.abort();
    await assert.rejects(starting, { name: "AbortError" });
    await lab.node.stop();
    const kubelet = await lab.node.start();
    assert.equal(kubelet.isReady(), true);
    const { items } = await lab.client.expect<{ items: { reason: string; message: string }[] }>({
      method: "GET",
      path: "/api/v1/namespaces/default/events",
    });
    assert.ok(items.some(({ reason, message }) => reason === "Starting" && message === "Starting kubelet."));
  } finally {
    await lab.close();
  }
});
