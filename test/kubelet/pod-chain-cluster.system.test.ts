import assert from "node:assert/strict";
import { test } from "vitest";
import { startControlPlane } from "../../src/cluster/control-plane/start.js";
import type { KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { assertInOrder, PodChain } from "../support/pod-chain.js";
import { only, recordingTrace } from "../support/trace.js";
import { LabNode, NODE_NAME } from "./scenarios/lab-node.js";

const PODS = "/api/v1/namespaces/default/pods";
const podOf = (name: string, script: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    nodeName: NODE_NAME,
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 1,
    tolerations: [{ operator: "Exists" }],
    containers: [{ name: "app", image: "busybox", command: ["sh", "-c", script] }],
  },
});

test("all that a node does for a pod leads back to the requests that created and deleted it", async () => {
  const clock = new SystemClock();
  const random = new SystemRandom();
  const { trace, events } = recordingTrace(clock);
  await using cluster = await startControlPlane({ clock, random, trace, kubeVersion: "1.25" });
  await using client = createClient(cluster.admin, { clock, random, trace, actor: "user" });
  await using node = await LabNode.make(cluster, { clock, random, trace });
  await trace.chapter("node", () => node.start());
  const asUser = <T>(request: () => T) => trace.chapter("user", request);
  for (const pod of [podOf("ends", "sleep 0.2; exit 3"), podOf("deleted", "sleep 100")]) {
    await asUser(() => client.expect({ method: "POST", path: PODS, body: pod }));
  }
  const missing = new Set(["ends Failed", "deleted Running", "deleted DELETED"]);
  const watch = client.watch<KubeObject & { status?: { phase?: string } }>(PODS, {}, AbortSignal.timeout(60_000));
  for await (const { type, object } of watch) {
    const { name } = object.metadata;
    const news = `${name} ${type === "DELETED" ? type : object.status?.phase}`;
    const isNew = missing.delete(news);
    if (isNew && news === "deleted Running") {
      await asUser(() => client.expect({ method: "DELETE", path: `${PODS}/deleted` }));
    }
    if (missing.size === 0) break;
  }
  await node.stop();

  const ends = new PodChain(events, "default/ends");
  const created = [/^request POST .*\/pods$/, /^watch pods/, /^decision ADD from api/, /^step Sync pod/];
  const started = [...created, /^rpc StartContainer/];
  const died = [...started, /^decision ContainerDied .* app/];
  assert.deepEqual(ends.orphans(), []);
  assertInOrder(ends.to(/ container running$/), started);
  assertInOrder(ends.to(/ container exited \(3/), [...started, /running$/]);
  assertInOrder(ends.to(/^decision ContainerDied .* app/), died);
  // The sync of a relist that saw both sandbox and container for the first time names the sandbox's event.
  const seen = [/^rpc (StartContainer|RunPodSandbox)/, /^decision Container(Died|Started)/];
  assertInOrder(ends.to(/^request PATCH .*\/status$/), [...created, ...seen, /^step /, /^decision version/]);

  const deleted = new PodChain(events, "default/deleted");
  const stopped = [
    /^request DELETE/,
    /^watch pods/,
    /^decision DELETE from api/,
    /^step End pod/,
    /^rpc StopContainer/,
  ];
  assert.deepEqual(deleted.orphans(), []);
  assertInOrder(deleted.to(/ container exited/), stopped);
  assertInOrder(deleted.to(/^decision ContainerDied .* app/), stopped);
  assertInOrder(deleted.to(/^request DELETE .*\/pods\/deleted$/), [...stopped.slice(0, 3), /^step Clean up after pod/]);
  assert(only(events, "step").some(({ title, instance }) => title.startsWith("Sync pod") && instance === NODE_NAME));
});
