// A cluster in a program: npm install kubelab, then node import.mjs
//
// Starts a cluster, joins a node and runs a pod on it, over the same protocols as a real cluster. docs/package.md has more.
import assert from "node:assert/strict";
import { startCluster, startNode } from "kubelab";

const PODS = "/api/v1/namespaces/default/pods";

const cluster = await startCluster({ kubeVersion: "1.30" });
try {
  const node = await startNode({ cluster, name: "n1", labels: { disk: "ssd" } });
  console.log(`${node.name} is Ready at ${cluster.url}`);

  await cluster.client.expect({
    method: "POST",
    path: PODS,
    body: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web" },
      spec: { nodeSelector: { disk: "ssd" }, containers: [{ name: "web", image: "nginx:1.25" }] },
    },
  });
  const pod = await cluster.client.waitFor(`${PODS}/web`, ({ status }) => status?.phase === "Running");
  assert.equal(pod.spec.nodeName, "n1");
  console.log(`pod ${pod.metadata.name} is ${pod.status.phase} on ${pod.spec.nodeName}`);
} finally {
  // With TypeScript, or from Node 24 on: await using cluster = await startCluster();
  await cluster.close();
}
