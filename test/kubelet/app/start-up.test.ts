import assert from "node:assert/strict";
import { test } from "vitest";
import type { NodeObject } from "../../../src/staging/apimachinery/api/node.js";
import { nodeCondition } from "../../../src/staging/apimachinery/api/node.js";
import { collectionPath, NODES, objectPath } from "../../../src/staging/client-go/rest/paths.js";
import { SystemClock } from "../../../src/util/clock.js";
import { missingPath } from "../../support/missing-path.js";
import { recordingTrace } from "../../support/trace.js";
import { Lab, SPEED } from "../scenarios/lab.js";
import { NODE_NAME } from "../scenarios/lab-node.js";

const STATIC_PODS = missingPath();

const { signal } = new AbortController();

test("start-up: each part says when it starts, by which upstream function, and when it acts, in upstream's order", async () => {
  const clock = new SystemClock(SPEED);
  const { trace, events } = recordingTrace(clock);
  const fields = { nodeStatusUpdateFrequency: "5s", nodeLeaseDurationSeconds: 20, imageGCHighThresholdPercent: 100 };
  const lab = await Lab.start({ config: { ...fields, staticPodPath: STATIC_PODS } }, { clock, trace });
  await lab.close();
  const started = events.flatMap((event) => {
    if (event.kind === "event") return event.reason === "Starting" ? [event.message] : [];
    if (event.kind !== "state" || !["starts", "not here,"].includes(event.what)) return [];
    const { subject, what, to, upstream } = event;
    return [`${upstream?.func}: ${subject} ${what} ${to.replace(lab.node.rootDir, "ROOT")}`];
  });
  assert.deepEqual(started, [
    "run: cloud provider not here, because no cloud runs this machine",
    "run: client of the API server starts with the node's certificate, one for pods, events and heartbeats",
    "run: cAdvisor not here, because the runtime's statistics take its place",
    "makeEventRecorder: event recorder starts writing Events to the API server",
    "run: container manager starts managing devices, without cgroups of its own",
    "run: OOM adjuster not here, because this process keeps its OOM score",
    "RunKubelet: kubelet starts by createAndInitKubelet, then startKubelet",
    "createAndInitKubelet: kubelet starts with NewMainKubelet, BirthCry and StartGarbageCollection",
    "NewMainKubelet: node lister starts watching its Node",
    `NewMainKubelet: pod configuration starts reading pods from ${STATIC_PODS} every 20 s, the API server by a watch`,
    "NewMainKubelet: service lister starts watching Services",
    "NewMainKubelet: manager of secrets and config maps starts watching what pods name",
    "NewManager: status manager starts with room for 1000 statuses in podStatusChannel",
    "newPodWorkers: pod workers starts syncing a pod again after 60 s, 10 s after an error, 1 s without a network",
    "Starting kubelet.",
    "StartGarbageCollection: garbage collection starts removing dead containers every 60 s, no images",
    "initializeModules: metrics starts counting for /metrics",
    "setupDataDirs: data directories not here, because each folder is made when it is first needed",
    "initializeModules: folder of log links not here, because no log collector reads it",
    "initializeModules: image manager starts detecting images every 5 min and listing them every 30 s",
    "initializeModules: server certificate manager not here, because the server signed its own certificate",
    "initializeModules: OOM watcher not here, because no kernel log is read: the runtime reports OOMKilled",
    "initializeModules: resource analyzer starts measuring a pod's folders when they are read, at most every 60 s",
    "Run: cloud resource sync manager not here, because there is no cloud provider",
    "Run: volume manager starts setting up a pod's volumes when its worker asks",
    "Run: node status starts updating every 5 s",
    "Run: node lease starts renewing every 5 s once the node is registered",
    "Run: runtime check starts asking every 5 s",
    "initNetworkUtil: iptables rules of the kubelet not here, because it changes no rules of the machine",
    "Run: status manager starts writing on changes and every 10 s",
    "Run: runtime class manager not here, because each pod gets the runtime's default handler",
    "Run: PLEG starts relisting every 1 s",
    "Run: sync loop starts syncing pods on events and every 1 s",
    "ListenAndServePodResources: pod resources API starts listing the devices of containers at ROOT/pod-resources/kubelet.sock",
    "initializeRuntimeDependentModules: cAdvisor not here, because the runtime's statistics take its place",
    "initializeRuntimeDependentModules: device manager starts registering plugins at ROOT/device-plugins/kubelet.sock",
    "initializeRuntimeDependentModules: eviction manager starts measuring every 10 s",
    "initializeRuntimeDependentModules: container log manager starts rotating logs every 10 s",
    "initializeRuntimeDependentModules: plugin manager not here, because there are no CSI drivers to register",
  ]);
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
