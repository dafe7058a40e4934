import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { isAlive } from "../../../../src/util/os/processes.js";
import { CliProcess, newHome } from "../../../support/cli-process.js";
import { childrenOf } from "../../../support/processes.js";

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: { containers: [{ name: "c", image: "busybox:1.36", command: ["sleep", "3600"] }] },
};

/** A node with one static pod whose container runs. */
async function startNode(): Promise<{ readonly node: CliProcess; readonly home: string; readonly pid: number }> {
  const home = newHome();
  const manifests = join(home, "manifests");
  mkdirSync(manifests);
  writeFileSync(join(manifests, "web.json"), JSON.stringify(POD));
  const node = new CliProcess(home, ["node", "--speed", "10", "-v", "2", "--manifest-dir", manifests]);
  onTestFinished(async () => void (await node.kill("SIGKILL")));
  // PLEG has seen it, so it will notice its end.
  await node.says(/ContainerStarted default\/web-node-1 c/);
  const [pid = 0] = childrenOf(node.child.pid ?? 0);
  return { node, home, pid };
}

test("the kubelet sees a runtime that is killed, and its pod runs again with another restart", async () => {
  const { node, home, pid } = await startNode();
  process.kill(pid, "SIGKILL");
  await node.says(/the container runtime was killed \(SIGKILL\); its containers are gone/);
  await node.says(/runtime: process ended (?:→|->) running, without containers/);
  await node.says(/ContainerDied default\/web-node-1 c/);
  await node.says(/Started container c.*Started container c/);
  // The log of each container has the number of its restart.
  const pods = join(home, "state", "kubelab", "nodes", "node-1", "log", "pods");
  const [folder = ""] = readdirSync(pods);
  assert.deepEqual(readdirSync(join(pods, folder, "c")).sort(), ["0.log", "1.log"]);
  const { code } = await node.kill("SIGINT");
  assert.equal(code, 130);
});

test("a runtime ends with a node that is killed", async () => {
  const { node, pid } = await startNode();
  await node.kill("SIGKILL");
  while (await isAlive(pid)) await new Promise((resolve) => setImmediate(resolve));
});
